"""Formats that a file source reads, under PyFlink's names."""

from __future__ import annotations

from typing import Any

from rekindle.config.configuration import Configuration
from rekindle.connectors.files.file_formats import avro_parquet_file_format, csv_file_format, parquet_file_format
from rekindle.connectors.files.file_source import BulkFormat, FileSource, StreamFormat
from rekindle.formats.avro_files import AvroSchema
from rekindle.formats.csv_schema import CsvSchema
from rekindle.types.class_typeinfo import AvroTypeInfo

__all__ = [
    "AvroInputFormat",
    "AvroParquetReaders",
    "CsvReaderFormat",
    "GenericRecordAvroTypeInfo",
    "ParquetColumnarRowInputFormat",
]


class CsvReaderFormat(StreamFormat):
    """Read CSV files; made by :meth:`for_schema`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> StreamFormat:
        """Read lines as rows with the fields of a schema."""
        return CsvReaderFormat._of(csv_file_format(schema))


class AvroParquetReaders:
    """Read Parquet files with a schema of Avro."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Read records as dicts with the fields of a schema."""
        return StreamFormat._of(avro_parquet_file_format(schema))


class ParquetColumnarRowInputFormat(BulkFormat):
    """Read Parquet files as rows with the fields of a schema."""

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        """Take a schema.

        Args:
            row_type: A dataclass, ``Types.ROW_NAMED(…)``, a schema of Spark such as ``"user string, amount long"``, or
                of Arrow.
            hadoop_config: Not used: Spark reads the files.
            batch_size: Not used.
            is_utc_timestamp: Not used: the schema says whether timestamps have a zone.
            is_case_sensitive: Not used: ``spark.sql.caseSensitive`` says so.
        """
        self._format = parquet_file_format(row_type)


class GenericRecordAvroTypeInfo(AvroTypeInfo):
    """The type of dicts with the fields of a schema."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(schema.schema)


class AvroInputFormat:
    """Read Avro's container files as dicts with the fields of a schema; for ``env.create_input``.

    Attributes:
        source: The source that reads them.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        """Take a path and a schema."""
        self.source: FileSource = FileSource.for_format("avro", path, schema=schema, record_class=dict).build()
        self._type_info = GenericRecordAvroTypeInfo(schema)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Return the type of the records."""
        return self._type_info
