"""The counterpart of ``pyflink.datastream.formats.avro``."""

from __future__ import annotations

from rekindle.connectors.files.bulk_writers import AvroBulkWriters
from rekindle.connectors.files.reader_formats import AvroInputFormat, GenericRecordAvroTypeInfo
from rekindle.formats.avro_files import AvroSchema, avro_writer
from rekindle.formats.avro_messages import AvroRowDeserializationSchema, AvroRowSerializationSchema

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
    "avro_writer",
]
