"""The counterpart of ``pyflink.datastream.formats.csv``."""

from __future__ import annotations

from rekindle.connectors.files.bulk_writers import CsvBulkWriters
from rekindle.connectors.files.reader_formats import CsvReaderFormat
from rekindle.formats.csv_files import csv_writer
from rekindle.formats.csv_messages import CsvRowDeserializationSchema, CsvRowSerializationSchema
from rekindle.formats.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
    "csv_writer",
]
