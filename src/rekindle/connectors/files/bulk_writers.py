"""Formats that a file sink writes, under PyFlink's names.

A schema is a dataclass, ``Types.ROW_NAMED(…)``, a schema of Spark such as ``"user string, amount long"``, or of Arrow,
where PyFlink takes ``DataTypes.ROW`` of its Table API.
"""

from __future__ import annotations

from typing import Any

from rekindle.config.configuration import Configuration
from rekindle.formats.avro_files import AvroSchema, AvroWriterFactory
from rekindle.formats.columnar_writers import OrcWriterFactory, ParquetWriterFactory, orc_writer, parquet_writer
from rekindle.formats.csv_files import CsvWriterFactory
from rekindle.formats.csv_schema import CsvSchema

__all__ = ["AvroBulkWriters", "AvroParquetWriters", "CsvBulkWriters", "OrcBulkWriters", "ParquetBulkWriters"]


class ParquetBulkWriters:
    """Write Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: Any, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> ParquetWriterFactory:
        """Write records with a schema.

        Args:
            row_type: The schema.
            hadoop_config: Not used: Arrow writes the files. ``parquet_writer`` takes its options.
            utc_timestamp: Not used: the schema says whether timestamps have a zone.
        """
        return parquet_writer(row_type)


class OrcBulkWriters:
    """Write ORC files."""

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Configuration | None = None, hadoop_config: Configuration | None = None
    ) -> OrcWriterFactory:
        """Write records with a schema.

        Args:
            row_type: The schema.
            writer_properties: Not used: Arrow writes the files. ``orc_writer`` takes its options.
            hadoop_config: Not used.
        """
        return orc_writer(row_type)


class CsvBulkWriters:
    """Write CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvWriterFactory:
        """Write records with a schema."""
        return CsvWriterFactory(schema)


class AvroBulkWriters:
    """Write Avro's container files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> AvroWriterFactory:
        """Write records with a schema: dicts, rows, dataclasses."""
        return AvroWriterFactory(schema)


class AvroParquetWriters:
    """Write Parquet files with a schema of Avro."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ParquetWriterFactory:
        """Write records with a schema: dicts, rows, dataclasses."""
        return parquet_writer(schema)
