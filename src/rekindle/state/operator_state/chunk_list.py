"""Records that wait in an operator, as operator state: one item, so that they stay together and in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError, StateRestoreError
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.state_evolution import StateName, evolved, stored_snapshot_of
from rekindle.types.compatibility import Outcome
from rekindle.types.type_serializer import TypeSerializer

Timestamps = list[int | None] | None
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, list[int | None] | None]).decode


def encode_records(
    values: list[Any], timestamps: Timestamps, serializer: TypeSerializer[Any], name: StateName
) -> StoredList:
    """Write records, in their order.

    Raises:
        SerializationError: A record does not match its type.
    """
    if not values:
        return StoredList(DistributionMode.SPLIT)

    try:
        item = _encode((serializer.all_to_bytes(values), timestamps))
        return StoredList.of(DistributionMode.SPLIT, [item], (stored_snapshot_of(serializer, name),))
    except SerializationError:
        raise
    except Exception as error:
        raise SerializationError(f"{name} cannot be part of a snapshot: {error}") from error


def decode_records(
    stored: StoredList, serializer: TypeSerializer[Any], name: StateName
) -> Iterator[tuple[list[Any], Timestamps]]:
    """Read records back, whatever they were written with, those of one old subtask after those of another.

    Raises:
        StateMigrationException: They cannot follow the program's type.
        StateRestoreError: They are not what their serializer writes.
    """
    for part in stored.parts:
        if len(part.serializers) != 1:
            raise StateRestoreError(f"{name} cannot be restored: another kind of operator wrote it")
        found = evolved(part.serializers[0], serializer, name)
        for item in part.items:
            try:
                data, timestamps = _decode(item)
                values = found.reader.all_from_bytes(data)
                if found.outcome is Outcome.AFTER_MIGRATION:
                    values = found.writer.converted(values)
            except (msgspec.MsgspecError, SerializationError) as error:
                raise StateRestoreError(f"{name} cannot be restored: {error}") from error
            yield values, timestamps
