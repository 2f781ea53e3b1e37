"""Parquet and ORC files of records with a schema, written by Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from rekindle.formats.bulk_writer import BulkWriter, Opener, RowDataBulkWriterFactory
from rekindle.formats.drained_bytes import DrainedBytes
from rekindle.formats.row_schemas import arrow_schema
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OrcWriterFactory", "ParquetWriterFactory", "orc_writer", "parquet_writer"]

_GROUP_BYTES = 32 << 20
"""About how many bytes, as Arrow has them, are one row group or one batch of a stripe."""


class ColumnarWriterFactory(RowDataBulkWriterFactory):
    """Make the writers of a format that keeps columns together.

    Attributes:
        options: What Arrow's writer is given.
    """

    may_be_concatenated = False

    def __init__(self, row_type: Any, options: Mapping[str, Any]) -> None:
        super().__init__(row_type)
        self.options = dict(options)
        self.schema  # noqa: B018 - what is not a schema is refused where the program gives it

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the schema, as Arrow has it."""
        return arrow_schema(self.row_type)

    def fingerprint(self) -> str:
        """Return the format and the schema."""
        return f"{super().fingerprint()} {self.schema.to_string(show_schema_metadata=False)}"

    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        """Return the writer of a new file."""
        return ColumnarWriter(self)

    def merged(self, files: Iterable[Opener]) -> Iterator[bytes]:
        """Return the bytes of one file with the records of several, some columns at a time."""
        writer = ColumnarWriter(self)
        for opened in files:
            with opened() as stream:
                for part in self.tables(stream):
                    if data := writer.add_table(part.cast(self.schema)):
                        yield data
        yield writer.finish()

    @abstractmethod
    def open_writer(self, sink: DrainedBytes) -> Any:
        """Return Arrow's writer; it has ``write`` for tables, and ``close``."""

    @abstractmethod
    def tables(self, stream: BinaryIO) -> Iterator[pa.Table]:
        """Read a file back, in parts."""


class ColumnarWriter(BulkWriter):
    """Write one file: records become columns chunk by chunk, and columns become bytes when there are enough of them."""

    def __init__(self, factory: ColumnarWriterFactory) -> None:
        self._schema = factory.schema
        self._sink = DrainedBytes()
        self._writer = factory.open_writer(self._sink)
        self._tables: list[pa.Table] = []
        self._held = 0

    @property
    def held_bytes(self) -> int:
        """Return how many bytes wait, as Arrow has them: compressed they are fewer."""
        return self._held

    def add(self, values: list[Any]) -> bytes:
        """Take records."""
        from rekindle.formats.arrow_columns import arrow_table

        return self.add_table(arrow_table(values, self._schema))

    def add_table(self, table: pa.Table) -> bytes:
        """Take records that are columns already."""
        self._tables.append(table)
        self._held += table.nbytes
        if self._held >= _GROUP_BYTES:
            self._write()
        return self._sink.take()

    def finish(self) -> bytes:
        """Return what waited, and the foot of the file."""
        self._write()
        self._writer.close()
        return self._sink.take()

    def _write(self) -> None:
        import pyarrow as pa

        if self._tables:
            self._writer.write(pa.concat_tables(self._tables))
        self._tables, self._held = [], 0


class ParquetWriterFactory(ColumnarWriterFactory):
    """Make writers of Parquet files."""

    def open_writer(self, sink: DrainedBytes) -> Any:
        """Return Arrow's writer."""
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(sink, self.schema, **self.options)

    def tables(self, stream: BinaryIO) -> Iterator[pa.Table]:
        """Read a file back, one row group at a time."""
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(stream)
        return map(file.read_row_group, range(file.num_row_groups))


class OrcWriterFactory(ColumnarWriterFactory):
    """Make writers of ORC files."""

    def open_writer(self, sink: DrainedBytes) -> Any:
        """Return Arrow's writer."""
        from pyarrow.orc import ORCWriter

        return ORCWriter(sink, **self.options)

    def tables(self, stream: BinaryIO) -> Iterator[pa.Table]:
        """Read a file back, one stripe at a time."""
        import pyarrow as pa
        from pyarrow.orc import ORCFile

        file = ORCFile(stream)
        return (pa.Table.from_batches([file.read_stripe(number)]) for number in range(file.nstripes))


def parquet_writer(schema: Any, **options: Any) -> ParquetWriterFactory:
    """Write Parquet files.

    Args:
        schema: A dataclass, ``Types.ROW_NAMED(…)``, a schema of Spark such as ``"user string, amount long"``, or of
        Arrow. options: Options of ``pyarrow.parquet.ParquetWriter``, such as ``compression="zstd"``.
    """
    return ParquetWriterFactory(schema, options)


def orc_writer(schema: Any, **options: Any) -> OrcWriterFactory:
    """Write ORC files.

    Args:
        schema: As for :func:`parquet_writer`.
        options: Options of ``pyarrow.orc.ORCWriter``, such as ``compression="zstd"``.
    """
    return OrcWriterFactory(schema, options)
