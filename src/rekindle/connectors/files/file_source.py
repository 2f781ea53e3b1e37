"""Files as the beginning of a stream, under PyFlink's names. Spark reads them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn, Self

from rekindle.base.time import Duration
from rekindle.base.type_variables import OUT, R, T
from rekindle.connectors.files.file_formats import file_format
from rekindle.connectors.files.spark_files import FileFormat, SparkFiles
from rekindle.connectors.spark_source import SparkSource
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.sources import (
    FileRecordsTransformation,
    RowsTransformation,
    TextFiles,
    TextLinesTransformation,
)
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.typeinfo import Types

__all__ = [
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "StreamFormat",
]

FILES_PER_EPOCH = 100
"""How many files of a monitored directory an epoch reads at most, unless the program says otherwise."""


def _not_implemented(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name} is not available in Rekindle: Spark reads the files. "
        'Use env.from_data_frame(spark.readStream.format("text").load(path)), with the format of your files'
    )


class StreamFormat(Generic[OUT]):
    """What the records of a file are; made by :meth:`text_line_format`, or in ``rekindle.datastream.formats``."""

    _format: FileFormat

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("StreamFormat")

    @classmethod
    def _of(cls, file_format: FileFormat) -> Self:
        made = cls.__new__(cls)
        made._format = file_format
        return made

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat[str]:
        """Read lines of text, each a string without its end.

        Args:
            charset_name: The encoding; one in which the end of a line is the byte that it is in ASCII.
        """
        return _TextLines(charset_name)


@dataclass(init=False, frozen=True)
class _TextLines(StreamFormat[str]):
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


class BulkFormat(Generic[OUT]):
    """What the records of a file are, whose columns are kept together; made in ``rekindle.datastream.formats``."""

    _format: FileFormat

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("BulkFormat")


class FileSource(SparkSource[OUT]):
    """Read files through Spark, for ``env.from_source``.

    A static set of files is read in the first epoch; with the option ``maxFilesPerTrigger`` or ``maxBytesPerTrigger``,
    some of them in each epoch. Spark remembers which files of a monitored directory it has read: after a failure, each
    record comes once.

    Attributes:
        files: What Spark is to read.
    """

    files: TextFiles | SparkFiles
    _charset: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSource")

    @staticmethod
    def for_format(
        format: str, *paths: str, schema: Any = None, record_class: Any = None, **options: Any
    ) -> FileSourceBuilder[Any]:
        """Read files of a format, as ``spark.read.format(…)`` does.

        Args:
            format: ``csv``, ``json``, ``parquet``, ``orc``, ``avro``, or another that Spark knows for files.
            paths: Files, or directories with all that is below them.
            schema: A schema of Spark, ``"user string, amount long"`` or a ``StructType``; a dataclass;
                ``Types.ROW_NAMED(…)``; a schema of Arrow, or of Avro. By default that of the record class; without one,
                Spark finds it out, unless the directory is monitored.
            record_class: What rows become: a dataclass, a ``msgspec.Struct`` or a ``NamedTuple``; ``Row`` of PyFlink's
                kind; ``dict``. By default records are Spark's rows, as those of ``env.from_data_frame``.
            options: Options of Spark's reader, such as ``header=True``. A malformed record fails the job, unless
                ``mode`` is ``"DROPMALFORMED"`` or ``"PERMISSIVE"``.

        Raises:
            TypeError: The schema is not one, or rows cannot become instances of the class.
        """
        return FileSourceBuilder._of(file_format(format, schema, record_class, options), paths)

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[R], *paths: str) -> FileSourceBuilder[R]:
        """Read records one by one.

        Args:
            stream_format: What a record is: ``StreamFormat.text_line_format()``,
                ``CsvReaderFormat.for_schema(schema)``, ``AvroParquetReaders.for_generic_record(schema)``.
            paths: Files, or directories with all that is below them.
        """
        if not isinstance(stream_format, StreamFormat):
            raise TypeError(
                "for_record_stream_format takes a StreamFormat, such as StreamFormat.text_line_format(), and was given "
                f"{stream_format!r}"
            )
        given = stream_format if isinstance(stream_format, _TextLines) else stream_format._format
        return FileSourceBuilder._of(given, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[R], *paths: str) -> FileSourceBuilder[R]:
        """Read files whose columns are kept together.

        Args:
            bulk_format: What is in them: ``ParquetColumnarRowInputFormat(row_type)``.
            paths: Files, or directories with all that is below them.
        """
        if not isinstance(bulk_format, BulkFormat):
            raise TypeError(f"for_bulk_file_format takes a BulkFormat, and was given {bulk_format!r}")
        return FileSourceBuilder._of(bulk_format._format, paths)

    @classmethod
    def _of(cls, files: TextFiles | SparkFiles, charset: str | None = None) -> Self:
        source = cls.__new__(cls)
        source.type_info = files.format.type_info if isinstance(files, SparkFiles) else Types.STRING()
        source.files = files
        source._charset = charset
        return source

    @property
    def bounded(self) -> bool:
        """Return whether only the files that are there are read."""
        return not self.files.monitored

    def frame(self) -> TextFiles | SparkFiles:
        """Return what Spark is to read."""
        return self.files

    def transformation(self, strategy: WatermarkStrategy | None) -> Transformation:
        """Describe what takes the rows from Spark."""
        if isinstance(self.files, TextFiles):
            return TextLinesTransformation(self._charset)
        form = self.files.format.form
        return RowsTransformation() if form is None else FileRecordsTransformation(form)


class FileSourceBuilder(Generic[T]):
    """Configure a :class:`FileSource`; made by one of its static methods."""

    _format: _TextLines | FileFormat
    _paths: tuple[str, ...]
    _monitored: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSourceBuilder")

    @classmethod
    def _of(cls, given: _TextLines | FileFormat, paths: tuple[str, ...]) -> Self:
        if not paths or not all(isinstance(path, str) and path for path in paths):
            raise ValueError(f"a FileSource needs paths to read, and was given {paths!r}")
        builder = cls.__new__(cls)
        builder._format, builder._paths, builder._monitored = given, paths, False
        return builder

    def process_static_file_set(self) -> Self:
        """Read the files that are there, and end; so it is by default."""
        self._monitored = False
        return self

    def monitor_continuously(self, discovery_interval: Duration) -> Self:
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

    def build(self) -> FileSource[T]:
        """Return the source.

        Raises:
            InvalidProgramError: A schema is missing that Spark cannot find out.
        """
        given = self._format
        if isinstance(given, _TextLines):
            return FileSource._of(TextFiles(self._paths, given.charset is not None, self._monitored), given.charset)
        files = SparkFiles(self._paths, given, self._monitored)
        if given.schema is None and (files.streaming or given.name == "avro"):
            which = "" if given.name == "avro" else " that are read some at a time"
            raise InvalidProgramError(
                f"a FileSource of {given.name} files{which} needs a schema: give one to for_format(…, schema=…), or a "
                "dataclass as record_class"
            )
        if self._monitored and not any(name.lower().startswith("max") for name in given.options):
            paced = replace(given, options={"maxFilesPerTrigger": FILES_PER_EPOCH, **given.options})
            files = replace(files, format=paced)
        return FileSource._of(files)


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
