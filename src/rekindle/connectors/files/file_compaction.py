"""PyFlink's names for compacting files before their commit; each says that there is no such thing here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["FileCompactStrategy", "FileCompactor"]


def not_compacting(name: str) -> NotImplementedError:
    """Make the error of a name that has to do with compaction."""
    return NotImplementedError(
        f"{name} is not available in Rekindle: a FileSink does not compact its files. "
        "Checkpoint less often for larger files, or compact finished files with a Spark job"
    )


class FileCompactStrategy:
    """Raise: a :class:`FileSink` does not compact."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise not_compacting("FileCompactStrategy")

    @staticmethod
    def builder() -> NoReturn:
        """Raise: a :class:`FileSink` does not compact."""
        raise not_compacting("FileCompactStrategy.builder")


class FileCompactor:
    """Raise: a :class:`FileSink` does not compact."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise not_compacting("FileCompactor")

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> NoReturn:
        """Raise: a :class:`FileSink` does not compact."""
        raise not_compacting("FileCompactor.concat_file_compactor")

    @staticmethod
    def identical_file_compactor() -> NoReturn:
        """Raise: a :class:`FileSink` does not compact."""
        raise not_compacting("FileCompactor.identical_file_compactor")
