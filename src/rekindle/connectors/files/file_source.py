"""Files as the beginning of a stream, under PyFlink's names. Spark reads them; other formats than text are its own."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any, NoReturn

from rekindle.base.time import Duration
from rekindle.connectors.spark_source import SparkSource
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.transformations.sources import TextFiles, TextLinesTransformation
from rekindle.types.typeinfo import Types

__all__ = [
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "StreamFormat",
]


def _not_implemented(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name} is not available in Rekindle: Spark reads the files. "
        'Use env.from_data_frame(spark.readStream.format("text").load(path)), with the format of your files'
    )


class StreamFormat:
    """Say what the records of a file are; made by :meth:`text_line_format`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("StreamFormat")

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Read lines of text, each a string without its end.

        Args:
            charset_name: The encoding; one in which the end of a line is the byte that it is in ASCII.
        """
        return _TextLines(charset_name)


@dataclass(init=False, frozen=True)
class _TextLines(StreamFormat):
    charset: str | None  # None: UTF-8

    def __init__(self, charset_name: str) -> None:
        try:
            name = codecs.lookup(charset_name).name
        except LookupError as error:
            raise ValueError(f"text_line_format: there is no charset {charset_name!r}") from error
        if "\r\n".encode(name) != b"\r\n":
            raise NotImplementedError(
                f"StreamFormat.text_line_format({charset_name!r}) is not available: Spark cuts files into lines at the "
                "bytes of ASCII's line ends. Convert the files to UTF-8"
            )
        object.__setattr__(self, "charset", None if name in ("utf-8", "ascii") else name)


class FileSource(SparkSource):
    """Read files through Spark, for ``env.from_source``; made by :meth:`for_record_stream_format`.

    The files of a static set are read in the first epoch. Spark remembers which files of a monitored directory it has
    read: after a failure, each line comes once.

    Attributes:
        files: What Spark is to read.
    """

    files: TextFiles
    _charset: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSource")

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Read records one by one.

        Args:
            stream_format: What a record is: ``StreamFormat.text_line_format()``.
            paths: Files, or directories with all that is below them.
        """
        if not isinstance(stream_format, _TextLines):
            raise TypeError(
                f"for_record_stream_format takes StreamFormat.text_line_format(…), and was given {stream_format!r}"
            )
        return FileSourceBuilder._of(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> NoReturn:
        """Raise: files of other formats are read by ``env.from_data_frame(spark.readStream…)``."""
        raise _not_implemented("FileSource.for_bulk_file_format")

    @classmethod
    def _of(cls, stream_format: _TextLines, files: TextFiles) -> FileSource:
        source = cls.__new__(cls)
        source.type_info = Types.STRING()
        source.files = files
        source._charset = stream_format.charset
        return source

    @property
    def bounded(self) -> bool:
        """Return whether only the files that are there are read."""
        return not self.files.monitored

    def frame(self) -> TextFiles:
        """Return what Spark is to read."""
        return self.files

    def transformation(self, strategy: WatermarkStrategy | None) -> TextLinesTransformation:
        """Describe what takes the lines from Spark."""
        return TextLinesTransformation(self._charset)


class FileSourceBuilder:
    """Configure a :class:`FileSource`; made by ``FileSource.for_record_stream_format``."""

    _format: _TextLines
    _paths: tuple[str, ...]
    _monitored: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSourceBuilder")

    @classmethod
    def _of(cls, stream_format: _TextLines, paths: tuple[str, ...]) -> FileSourceBuilder:
        if not paths or not all(isinstance(path, str) and path for path in paths):
            raise ValueError(f"a FileSource needs paths to read, and was given {paths!r}")
        builder = cls.__new__(cls)
        builder._format, builder._paths, builder._monitored = stream_format, paths, False
        return builder

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there, and end; so it is by default."""
        self._monitored = False
        return self

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Read files that are added, too, and never end.

        Args:
            discovery_interval: Not used: Spark looks for new files whenever it looks for new data, several times a
                second.
        """
        if not isinstance(discovery_interval, Duration):
            raise TypeError(f"monitor_continuously takes a Duration, and was given {discovery_interval!r}")
        self._monitored = True
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> NoReturn:
        """Raise: Spark finds the files."""
        raise _not_implemented("FileSourceBuilder.set_file_enumerator")

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> NoReturn:
        """Raise: Spark deals out the files."""
        raise _not_implemented("FileSourceBuilder.set_split_assigner")

    def build(self) -> FileSource:
        """Return the source."""
        files = TextFiles(self._paths, self._format.charset is not None, self._monitored)
        return FileSource._of(self._format, files)


class BulkFormat:
    """Raise: the format is an option of ``spark.readStream``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("BulkFormat")


class FileEnumeratorProvider:
    """Raise: Spark finds the files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileEnumeratorProvider")

    @staticmethod
    def default_splittable_file_enumerator() -> NoReturn:
        """Raise: Spark finds the files."""
        raise _not_implemented("FileEnumeratorProvider.default_splittable_file_enumerator")

    @staticmethod
    def default_non_splittable_file_enumerator() -> NoReturn:
        """Raise: Spark finds the files."""
        raise _not_implemented("FileEnumeratorProvider.default_non_splittable_file_enumerator")


class FileSplitAssignerProvider:
    """Raise: Spark deals out the files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSplitAssignerProvider")

    @staticmethod
    def locality_aware_split_assigner() -> NoReturn:
        """Raise: Spark deals out the files."""
        raise _not_implemented("FileSplitAssignerProvider.locality_aware_split_assigner")
