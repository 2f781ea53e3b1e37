"""How the records of a file become its bytes: the interface of formats that a file sink writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from rekindle.types.type_information import TypeInformation

__all__ = ["BulkWriter", "BulkWriterFactory", "Opener", "RowDataBulkWriterFactory"]

Opener = Callable[[], BinaryIO]
"""Opens a file for reading, with seek."""


class BulkWriter(ABC):
    """Turn the records of one file into its bytes. It does no I/O: the sink appends what is returned."""

    @property
    def held_bytes(self) -> int:
        """Return about how many bytes wait to be returned by a later call."""
        return 0

    @abstractmethod
    def add(self, values: list[Any]) -> bytes:
        """Take records; return the bytes that are ready to be appended, perhaps none."""

    @abstractmethod
    def finish(self) -> bytes:
        """Return the last bytes of the file. Nothing is added after it."""


class BulkWriterFactory(ABC):
    """Make the writers of a format, one for each file; for ``FileSink.for_bulk_format``.

    It travels to the slots by pickle.
    """

    may_be_concatenated = True
    """Whether the bytes of several files, one after the other, are a file of the format."""

    def fingerprint(self) -> str:
        """Return what tells files of this format from those that :meth:`merged` cannot read; for compaction.

        Files of an earlier version of the program, with another fingerprint, become visible without being merged.
        """
        return type(self).__qualname__

    @abstractmethod
    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        """Return the writer of a new file.

        Args:
            type_info: The type of the stream's records, None if it has none.
        """

    def merged(self, files: Iterable[Opener]) -> Iterator[bytes]:
        """Return the bytes of one file with the records of several, in their order; for compaction.

        Args:
            files: Open the files, all of this format.

        Raises:
            NotImplementedError: The format cannot be read back.
        """
        raise NotImplementedError(
            f"files of {type(self).__name__} cannot be merged record by record: implement merged(files), or use "
            "FileCompactor.concat_file_compactor() if files of this format may be concatenated"
        )


class RowDataBulkWriterFactory(BulkWriterFactory):
    """Make the writers of a format whose records have a schema.

    Attributes:
        row_type: The schema, as the program gave it.
    """

    def __init__(self, row_type: Any) -> None:
        self.row_type = row_type

    def get_row_type(self) -> Any:
        """Return the schema, as the program gave it."""
        return self.row_type
