"""The counterpart of ``pyflink.datastream.formats.parquet``."""

from __future__ import annotations

from rekindle.connectors.files.bulk_writers import AvroParquetWriters, ParquetBulkWriters
from rekindle.connectors.files.reader_formats import AvroParquetReaders, ParquetColumnarRowInputFormat
from rekindle.formats.columnar_writers import parquet_writer

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "parquet_writer",
]
