"""What a payload holds: a chunk of records, a batch of Spark's, word of an upstream subtask's progress, or several.

A chunk is three lists, one after the other: values, keys and timestamps, each in the form that suits it. The records of
a stream with a type are written and read by the serializer of that type, and so converted; all else comes out as it
went in.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from operator import is_, itemgetter
from typing import Any, TypeAlias

import msgspec

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.object_lists import Written, read_objects, write_objects
from rekindle.types.spark_rows import is_schema_row
from rekindle.types.type_serializer import TypeSerializer

_CHUNK = 0
_ARROW = 1
_PROGRESS = 2
_SEVERAL = 3
_PASSED = 4

# Forms of a list besides those of objects.
_ABSENT = 255
_TYPED = 254  # by the serializer of the edge
_FIELD = 253  # the keys are a field of the values

ARROW_TAG = bytes([_ARROW])
"""How the payload of a batch of Spark's begins."""

_PROGRESS_TAG, _SEVERAL_TAG, _PASSED_TAG = bytes([_PROGRESS]), bytes([_SEVERAL]), bytes([_PASSED])
_LENGTH = struct.Struct(">I")
_HEADER = struct.Struct(">BBBBII")  # tag; forms of values, keys and timestamps; sizes of keys and timestamps
_FIELDS_SEARCHED = 16


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """Tell how far an upstream subtask is."""

    producer: int
    watermark: int
    ended: bool
    idle: bool = False


class Passed(msgspec.Struct, frozen=True, array_like=True):
    """Tell what has passed by in a task that ran a chain of operators by columns.

    Attributes:
        records: How many records came to each operator of the chain, and to the exchange; empty: others are told.
        highest: The highest timestamp in each share of the records; None: it has none. Empty: nobody makes watermarks.
    """

    records: list[int]
    highest: list[int | None]


def encode_chunk(chunk: Chunk, serializer: TypeSerializer[Any] | None = None) -> bytes:
    """Encode a chunk of at least one record.

    Args:
        chunk: The records.
        serializer: That of the stream's type; None for a stream without.

    Raises:
        SerializationError: A record does not match the stream's type.
    """
    if serializer is None:
        value_form, values = write_objects(chunk.values)
        key_form, keys = _write_keys(chunk)
    else:
        value_form, values = _TYPED, serializer.all_to_bytes(chunk.values)
        key_form, keys = _write(chunk.keys)
    timestamp_form, timestamps = _write(chunk.timestamps)
    header = _HEADER.pack(_CHUNK, value_form, key_form, timestamp_form, len(keys), len(timestamps))
    return b"".join((header, keys, timestamps, values))


def is_batch(payload: bytearray) -> bool:
    """Return whether a payload holds rows as Spark read them."""
    return payload[0] == _ARROW


def encode_progress(progress: Progress) -> bytes:
    """Encode word of progress."""
    return _PROGRESS_TAG + msgspec.msgpack.encode(progress)


def encode_passed(passed: Passed) -> bytes:
    """Encode word of a task."""
    return _PASSED_TAG + msgspec.msgpack.encode(passed)


def encode_several(payloads: Iterable[bytes]) -> bytes:
    """Put payloads into one, in their order: where watermarks are many, chunks are small."""
    parts = [_SEVERAL_TAG]
    for payload in payloads:
        parts += (_LENGTH.pack(len(payload)), payload)
    return b"".join(parts)


def decode_all(payload: bytearray, serializer: TypeSerializer[Any] | None = None) -> list[Item]:
    """Decode all that is in a payload; the serializer is the one that chunks were encoded with."""
    if payload[0] != _SEVERAL:
        return [decode(payload, serializer)]
    view, place = memoryview(payload), 1
    items = []
    while place < len(view):
        (length,) = _LENGTH.unpack_from(view, place)
        place += _LENGTH.size
        items.append(decode(view[place : place + length], serializer))
        place += length
    return items


def decode(payload: bytearray | memoryview, serializer: TypeSerializer[Any] | None = None) -> Item:
    """Decode a payload that holds one thing; the serializer is the one that a chunk was encoded with."""
    kind = payload[0]
    if kind == _CHUNK:
        return _decode_chunk(memoryview(payload), serializer)
    body = memoryview(payload)[1:]
    if kind == _ARROW:
        # Arrow takes 0.3 s and 40 MB to import, and slots of jobs that read no DataFrame never need it.
        from rekindle.runtime.exchange.arrow_batches import decode_batch

        return decode_batch(body)
    if kind == _PASSED:
        return msgspec.msgpack.decode(body, type=Passed)
    return msgspec.msgpack.decode(body, type=Progress)


Item: TypeAlias = Chunk | Progress | Passed
"""What may be in a payload."""


def _decode_chunk(payload: memoryview, serializer: TypeSerializer[Any] | None) -> Chunk:
    _, value_form, key_form, timestamp_form, key_size, timestamp_size = _HEADER.unpack_from(payload)
    timestamps_at = _HEADER.size + key_size
    values_at = timestamps_at + timestamp_size
    if value_form == _TYPED:
        assert serializer is not None, "the records of a stream with a type came without it"
        values = serializer.all_from_bytes(payload[values_at:])
    else:
        values = read_objects(value_form, payload[values_at:])
    timestamps = None if timestamp_form == _ABSENT else read_objects(timestamp_form, payload[timestamps_at:values_at])
    if key_form == _FIELD:
        return Chunk(values, timestamps, list(map(itemgetter(payload[_HEADER.size]), values)))
    keys = None if key_form == _ABSENT else read_objects(key_form, payload[_HEADER.size : timestamps_at])
    return Chunk(values, timestamps, keys)


def _write(objects: list[Any] | None) -> Written:
    return (_ABSENT, b"") if objects is None else write_objects(objects)


def _write_keys(chunk: Chunk) -> Written:
    """Write the keys; those that are the same objects as a field of the values are not written again."""
    keys, values = chunk.keys, chunk.values
    if keys and (type(values[0]) is tuple or is_schema_row(type(values[0]))):
        for position, field in enumerate(values[0][:_FIELDS_SEARCHED]):
            if field is keys[0] and _are_fields(keys, values, position):
                return _FIELD, bytes([position])
    return _write(keys)


def _are_fields(keys: list[Any], values: list[Any], position: int) -> bool:
    try:
        return all(map(is_, keys, map(itemgetter(position), values)))
    except (TypeError, LookupError):  # not all values are tuples, or they differ in length
        return False
