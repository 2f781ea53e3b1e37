"""Rows of Spark's connector turned into records, in the slots: by columns where that can be, one by one elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rekindle.columns.python_values import column_values
from rekindle.columns.shapes import VALUE
from rekindle.connectors.kafka.record_deserialization import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KeyAndValue,
    ValueOnly,
)
from rekindle.formats.schemas import ByteArraySchema, DeserializationSchema, SimpleStringSchema
from rekindle.graph.transformations.split_sources import RecordDecoder
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk

SOURCE_KIND = "KafkaSource"
"""What uids of Kafka sources are derived from."""


class KafkaDecoder(RecordDecoder):
    """Turn rows into records."""

    @property
    def source_kind(self) -> str:
        return SOURCE_KIND

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are needed of each row."""


class StringDecoder(KafkaDecoder):
    """Take values as strings in UTF-8, all of a chunk at once. What is no UTF-8 is replaced, as in Java."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value", "timestamp")

    def decode(self, rows: Any) -> Chunk:
        """Return the values, as a column of strings."""
        values, stamps = _values_and_stamps(rows)
        try:
            text = values.cast(pa.string())
        except pa.ArrowInvalid:
            text = pa.array([value.decode("utf-8", "replace") for value in column_values(values)], pa.string())
        return ColumnChunk([text], VALUE, stamps=stamps)


class BytesDecoder(KafkaDecoder):
    """Take values as they are."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value", "timestamp")

    def decode(self, rows: Any) -> Chunk:
        """Return the values, as a column of bytes."""
        values, stamps = _values_and_stamps(rows)
        return ColumnChunk([values], VALUE, stamps=stamps)


class ValueDecoder(KafkaDecoder):
    """Let a schema of the program turn values into records.

    Attributes:
        schema: The schema.
    """

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        self.schema = schema

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value", "timestamp")

    def decode(self, rows: Any) -> Chunk:
        """Return what the schema makes of the values, all of a chunk at once."""
        values, stamps = _values_and_stamps(rows)
        records, origins = _deserialized(self.schema, column_values(values))
        return Chunk(records, (stamps if origins is None else stamps[origins]).tolist())


class KeyAndValueDecoder(KafkaDecoder):
    """Let two schemas of the program turn keys and values into pairs, all of a chunk at once.

    Attributes:
        schema: Both.
    """

    def __init__(self, schema: KeyAndValue) -> None:
        self.schema = schema

    @property
    def columns(self) -> tuple[str, ...]:
        return ("key", "value", "timestamp")

    def decode(self, rows: Any) -> Chunk:
        """Return the pairs: as many for a message as its value has records; None where there is no key or value."""
        stamps = _stamps(_column(rows, "timestamp"))
        keys: list[Any] = [None] * len(stamps)
        for place, key in zip(*_placed(self.schema.key_schema, _column(rows, "key")), strict=True):
            keys[place] = key
        column = _column(rows, "value")
        places, values = _placed(self.schema.value_schema, column)
        if column.null_count:
            missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist()
            deleted: list[tuple[int, Any]] = [(place, None) for place in missing]
            merged = sorted([*zip(places, values, strict=True), *deleted], key=itemgetter(0))
            places, values = [place for place, _ in merged], [value for _, value in merged]
        return Chunk(
            [(keys[place], value) for place, value in zip(places, values, strict=True)], stamps[places].tolist()
        )


class RecordsDecoder(KafkaDecoder):
    """Let a schema of the program turn whole records of Kafka into records.

    Attributes:
        schema: The schema.
    """

    def __init__(self, schema: KafkaRecordDeserializationSchema[Any]) -> None:
        self.schema = schema

    @property
    def columns(self) -> tuple[str, ...]:
        return ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")

    @at_record(remaining="remaining")
    def decode(self, rows: Any) -> Chunk:
        """Return what the schema makes of the records."""
        stamps = _stamps(_column(rows, "timestamp"))
        topic, partition, offset, kind, key, value, headers = (
            column_values(_column(rows, name)) for name in self.columns if name != "timestamp"
        )
        pairs = map(_headers, headers)
        records = map(KafkaRecord, topic, partition, offset, stamps.tolist(), kind, key, value, pairs)
        deserialize = self.schema.deserialize
        remaining = iter(list(records))
        return _without_none([deserialize(value) for value in remaining], stamps)


def decoder_of(schema: KafkaRecordDeserializationSchema[Any]) -> KafkaDecoder:
    """Return what turns rows into records as a schema says."""
    if isinstance(schema, KeyAndValue):
        return KeyAndValueDecoder(schema)
    if not isinstance(schema, ValueOnly):
        return RecordsDecoder(schema)
    values = schema.schema
    if type(values) is SimpleStringSchema and values.charset == "utf-8":
        return StringDecoder()
    return BytesDecoder() if type(values) is ByteArraySchema else ValueDecoder(values)


def _column(rows: Any, name: str) -> pa.Array:
    assert isinstance(rows, ColumnChunk)
    return rows.fields[rows.shape.names.index(name)]


def _values_and_stamps(rows: Any) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Return values and timestamps, without the records that have no value."""
    values, stamps = _column(rows, "value"), _stamps(_column(rows, "timestamp"))
    if values.null_count == 0:
        return values, stamps
    there = values.is_valid()
    return values.filter(there), stamps[there.to_numpy(zero_copy_only=False)]


def _placed(schema: DeserializationSchema[Any], column: pa.Array) -> tuple[list[int], list[Any]]:
    """Return what a schema makes of the messages in a column, and for each record the place of its message."""
    places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    records, origins = _deserialized(schema, column_values(column.drop_null()))
    return (places if origins is None else places[origins]).tolist(), records


@at_record("value")
def _deserialized(schema: DeserializationSchema[Any], messages: list[Any]) -> tuple[list[Any], list[int] | None]:
    try:
        return schema.deserialize_all(messages)
    except Exception:
        for value in messages:  # the first that fails alone is the one to name
            schema.deserialize_all([value])
        raise


def _stamps(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return timestamps as milliseconds; Spark has microseconds."""
    stamps: npt.NDArray[np.int64] = column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
    return stamps


def _headers(headers: Sequence[Any] | None) -> tuple[tuple[str, bytes | None], ...]:
    return () if not headers else tuple((name, value) for name, value in headers)


def _without_none(records: list[Any], stamps: npt.NDArray[np.int64]) -> Chunk:
    timestamps: list[int | None] = stamps.tolist()
    if type(None) not in set(map(type, records)):
        return Chunk(records, timestamps)
    there = [place for place, record in enumerate(records) if record is not None]
    return Chunk([records[place] for place in there], [timestamps[place] for place in there])
