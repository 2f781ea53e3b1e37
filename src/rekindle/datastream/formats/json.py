"""The counterpart of ``pyflink.datastream.formats.json``, with changelogs of Debezium."""

from __future__ import annotations

from rekindle.formats.debezium_json import DebeziumJsonDeserializationSchema
from rekindle.formats.json_schemas import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["DebeziumJsonDeserializationSchema", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
