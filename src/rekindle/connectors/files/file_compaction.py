"""When small files are merged before they become visible, and how: PyFlink's names, and the pure decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rekindle.connectors.files.file_committables import HeldFile
from rekindle.connectors.files.row_encoding import concatenated
from rekindle.exceptions import ConfigurationError
from rekindle.formats.bulk_writer import BulkWriterFactory, Opener

__all__ = ["FileCompactStrategy", "FileCompactor", "due_groups"]


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When the pending files of a bucket are merged; made by :meth:`builder`.

    Attributes:
        num_checkpoints_before_compaction: How many checkpoints a file waits at most; None: any number.
        size_threshold: How many bytes files have together when they are merged; None: any number.
        num_compact_threads: How many merges a subtask does at a time.
    """

    num_checkpoints_before_compaction: int | None
    size_threshold: int | None
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Start without conditions."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Build a :class:`FileCompactStrategy`; at least one of its two conditions is to be given."""

        def __init__(self) -> None:
            self._checkpoints: int | None = None
            self._size: int | None = None
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Merge files after this many checkpoints."""
            self._checkpoints = _positive(num_checkpoints_before_compaction, "num_checkpoints_before_compaction")
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Merge files when they have this many bytes together."""
            self._size = _positive(size_threshold, "size_threshold")
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Set how many merges a subtask does at a time; 1 by default."""
            self._threads = _positive(num_compact_threads, "num_compact_threads")
            return self

        def build(self) -> FileCompactStrategy:
            """Build the strategy.

            Raises:
                ConfigurationError: No condition was given.
            """
            if self._checkpoints is None and self._size is None:
                raise ConfigurationError(
                    "a FileCompactStrategy needs a condition: call enable_compaction_on_checkpoint(n), or "
                    "set_size_threshold(bytes), or both"
                )
            return FileCompactStrategy(self._checkpoints, self._size, self._threads)


class FileCompactor(ABC):
    """How files become one; made by one of its static methods."""

    @abstractmethod
    def merged(self, files: Sequence[Opener], written_by: BulkWriterFactory) -> Iterator[bytes]:
        """Return the bytes of one file with the contents of several, in their order.

        Args:
            files: Open the files.
            written_by: The format of the sink.
        """

    @property
    def joins(self) -> bool:
        """Return whether several files become one."""
        return True

    def check(self, written_by: BulkWriterFactory) -> None:  # noqa: B027
        """Raise if files of a format cannot become one in this way."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Put the bytes of files one after the other; for lines, and other formats without head and foot.

        Args:
            file_delimiter: What to put between two files.
        """
        return _Concatenating(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Leave each file as it is: files wait, and none is merged with another."""
        return _Identical()

    @staticmethod
    def record_wise_file_compactor() -> FileCompactor:
        """Read the records of files and write them again, in the format of the sink: Parquet, ORC, Avro, CSV, lines."""
        return _RecordWise()


@dataclass(frozen=True, slots=True)
class _Concatenating(FileCompactor):
    delimiter: bytes

    def check(self, written_by: BulkWriterFactory) -> None:
        if not written_by.may_be_concatenated:
            raise ConfigurationError(
                f"files of {type(written_by).__name__} one after the other are not a file that can be read: merge them "
                "with FileCompactor.record_wise_file_compactor()"
            )

    def merged(self, files: Sequence[Opener], written_by: BulkWriterFactory) -> Iterator[bytes]:
        return concatenated(files, self.delimiter)


class _Identical(FileCompactor):
    @property
    def joins(self) -> bool:
        return False

    def merged(self, files: Sequence[Opener], written_by: BulkWriterFactory) -> Iterator[bytes]:
        return concatenated(files)


class _RecordWise(FileCompactor):
    def merged(self, files: Sequence[Opener], written_by: BulkWriterFactory) -> Iterator[bytes]:
        return written_by.merged(files)


def due_groups(waiting: Sequence[HeldFile], strategy: FileCompactStrategy, last: bool) -> list[list[HeldFile]]:
    """Return which files of a bucket are to be merged now.

    Args:
        waiting: Files that may be merged with each other, the oldest first.
        strategy: The conditions.
        last: Whether no file follows: none waits any longer.
    """
    groups: list[list[HeldFile]] = []
    rest: list[HeldFile] = []
    for file in waiting:
        rest.append(file)
        if strategy.size_threshold is not None and sum(each.size for each in rest) >= strategy.size_threshold:
            groups.append(rest)
            rest = []
    patience = strategy.num_checkpoints_before_compaction
    if rest and (last or (patience is not None and rest[0].checkpoints + 1 >= patience)):
        groups.append(rest)
    return groups


def _positive(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
        raise ConfigurationError(f"{name} of a FileCompactStrategy must be greater than zero, got {number!r}")
    return number
