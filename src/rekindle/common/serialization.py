"""The counterpart of ``pyflink.common.serialization``."""

from __future__ import annotations

from rekindle.formats.bulk_writer import BulkWriter, BulkWriterFactory, RowDataBulkWriterFactory
from rekindle.formats.schemas import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]
