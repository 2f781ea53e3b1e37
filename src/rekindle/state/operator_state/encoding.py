"""Elements and maps of operator state as items of bytes, and how restored items follow the types of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError, StateMigrationException, StateRestoreError
from rekindle.state.map_keys import Conversion, check_unchanged, key_conversion
from rekindle.state.operator_state.stored import DistributionMode, StoredItems, StoredList
from rekindle.state.state_evolution import Evolved, StateName, evolved, stored_snapshot_of
from rekindle.types.compatibility import Outcome
from rekindle.types.type_serializer import TypeSerializer

_encode_map = msgspec.msgpack.Encoder().encode
_decode_map = msgspec.msgpack.Decoder(list[tuple[bytes, bytes | None]]).decode


class EvolvingSerializer:
    """Serialize one part of a state: its elements, its keys, its values.

    It begins as the serializer of the program. Restored items may change it: one that was reconfigured is used from
    then on.
    """

    __slots__ = ("_found", "_name", "_stored", "_what", "_writer")

    def __init__(self, serializer: TypeSerializer[Any], name: StateName, what: str = "") -> None:
        """Take the serializer of the program.

        Args:
            serializer: The serializer.
            name: The state, for messages.
            what: What of the state it serializes, for messages; nothing for elements and values.
        """
        self._writer = serializer
        self._name = name
        self._what = what
        self._stored: bytes | None = None
        self._found: dict[bytes, Evolved] = {}

    def stored(self) -> bytes:
        """Return the snapshot of the serializer as it is stored with the items."""
        if self._stored is None:
            self._stored = stored_snapshot_of(self._writer, self._name)
        return self._stored

    def conversion(self) -> Conversion | None:
        """Return what turns the key of a map into what it is after a restore; None where that is the key itself."""
        return key_conversion(self._writer)

    def check_keys(self, keys: list[Any]) -> None:
        """Raise if keys of a map would come back as others."""
        try:
            check_unchanged(self._writer, keys)
        except SerializationError as error:
            raise SerializationError(f"{self._name} cannot be part of a snapshot: {error}") from error

    def encode(self, values: Iterable[Any]) -> Iterator[bytes]:
        """Yield values as bytes, each."""
        to_bytes = self._writer.to_bytes
        for value in values:
            try:
                yield to_bytes(value)
            except Exception as error:
                raise SerializationError(f"{self._name} cannot be part of a snapshot: {error}") from error

    def decode(self, items: Iterable[bytes], written_by: bytes) -> list[Any]:
        """Return the values of items that an older serializer wrote, as the program's serializer gives them.

        Args:
            items: The items.
            written_by: The stored snapshot of the serializer that wrote them.

        Raises:
            StateMigrationException: They cannot follow the program's type.
            SerializerSnapshotError: What is known of their serializer cannot be read any more.
            StateRestoreError: They are not what that serializer writes.
        """
        found = self._found.get(written_by)
        if found is None:
            found = self._found[written_by] = evolved(written_by, self._writer, self._name, self._what)
            self._writer = found.writer
        try:
            values = [found.reader.from_bytes(item) for item in items]
            if found.outcome is Outcome.AFTER_MIGRATION:
                values = [self._writer.from_bytes(self._writer.to_bytes(value)) for value in values]
        except SerializationError as error:
            raise StateRestoreError(f"{self._name} cannot be restored: {error}") from error
        return values


def encode_list(elements: list[Any], serializer: EvolvingSerializer, mode: DistributionMode) -> StoredList:
    """Write a list: each element is an item, so that they can be dealt out one by one."""
    if not elements:
        return StoredList(mode)
    return StoredList.of(mode, serializer.encode(elements), (serializer.stored(),))


def decode_list(stored: StoredList, serializer: EvolvingSerializer, name: StateName) -> list[Any]:
    """Read a list, whatever its items were written with."""
    elements: list[Any] = []
    for part in stored.parts:
        (written_by,) = _serializers(part, 1, name)
        elements += serializer.decode(part.items, written_by)
    return elements


def encode_broadcast(entries: dict[Any, Any], keys: EvolvingSerializer, values: EvolvingSerializer) -> StoredList:
    """Write a map: all of it is one item, and of an empty one there is none. A None is no value of the serializer."""
    if not entries:
        return StoredList(DistributionMode.BROADCAST)
    keys.check_keys(list(entries))
    something = values.encode(value for value in entries.values() if value is not None)
    pairs = [
        (key, None if value is None else next(something))
        for key, value in zip(keys.encode(entries), entries.values(), strict=True)
    ]
    return StoredList.of(DistributionMode.BROADCAST, [_encode_map(pairs)], (keys.stored(), values.stored()))


def decode_broadcast(
    stored: StoredList, keys: EvolvingSerializer, values: EvolvingSerializer, name: StateName
) -> dict[Any, Any]:
    """Read a map, whatever its keys and values were written with."""
    entries: dict[Any, Any] = {}
    for part in stored.parts:
        keys_by, values_by = _serializers(part, 2, name)
        for item in part.items:
            pairs = broadcast_pairs(item, name)
            found = iter(values.decode([value for _, value in pairs if value is not None], values_by))
            for key, (_, value) in zip(keys.decode([key for key, _ in pairs], keys_by), pairs, strict=True):
                if key in entries:
                    raise StateMigrationException(
                        f"the key type of {name} changed in such a way that two of its keys became one, {key!r}. "
                        "Change it back, or give the state another name to start without its values"
                    )
                entries[key] = None if value is None else next(found)
    return entries


def _serializers(part: StoredItems, number: int, name: StateName) -> tuple[bytes, ...]:
    if len(part.serializers) != number:
        raise StateRestoreError(
            f"{name} cannot be restored: another kind of operator wrote it, in bytes of its own. Give the operator "
            "another uid"
        )
    return part.serializers


def broadcast_pairs(item: bytes, name: StateName) -> list[tuple[bytes, bytes | None]]:
    """Return the keys and values of a map that is an item, each as bytes."""
    try:
        return _decode_map(item)
    except msgspec.MsgspecError as error:
        raise StateRestoreError(f"{name} cannot be restored: its map is damaged: {error}") from error
