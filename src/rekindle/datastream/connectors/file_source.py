"""PyFlink's names for reading files, each of which says that Spark reads files here."""

from __future__ import annotations

from typing import Any, NoReturn

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


class FileSource:
    """Raise: files are read by ``env.from_data_frame(spark.readStream…)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSource")

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> NoReturn:
        """Raise: files are read by ``env.from_data_frame(spark.readStream…)``."""
        raise _not_implemented("FileSource.for_record_stream_format")

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> NoReturn:
        """Raise: files are read by ``env.from_data_frame(spark.readStream…)``."""
        raise _not_implemented("FileSource.for_bulk_file_format")


class FileSourceBuilder:
    """Raise: there is no :class:`FileSource` to build."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("FileSourceBuilder")


class StreamFormat:
    """Raise: the format is an option of ``spark.readStream``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _not_implemented("StreamFormat")

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> NoReturn:
        """Raise: use ``spark.readStream.format("text")``."""
        raise _not_implemented("StreamFormat.text_line_format")


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
