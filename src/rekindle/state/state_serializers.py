"""The serializers of a keyed state, and their snapshots as they are stored with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from rekindle.exceptions import SerializerSnapshotError
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes
from rekindle.state.state_evolution import StateName, evolved, stored_snapshot_of
from rekindle.types.type_serializer import TypeSerializer


class StoredSerializers(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hold snapshots of the serializers that wrote a state.

    Attributes:
        key: Of its keys.
        value: Of its values: of the value, the accumulator, an element of the list, a value of the map.
        map_key: Of the keys of its maps; empty in other states.
        namespace: Of its namespaces; empty in states without.
    """

    key: bytes
    value: bytes = b""
    map_key: bytes = b""
    namespace: bytes = b""


@dataclass(frozen=True, slots=True)
class StateSerializers:
    """Hold the serializers of a state.

    Attributes:
        key: Of its keys.
        value: Of its values: of the value, the accumulator, an element of the list, a value of the map.
        map_key: Of the keys of its maps; UNUSED in other states.
        namespace: Of its namespaces; UNUSED in states without.
    """

    key: TypeSerializer[Any]
    value: TypeSerializer[Any]
    map_key: TypeSerializer[Any]
    namespace: TypeSerializer[Any]

    def stored(self, name: StateName) -> StoredSerializers:
        """Return their snapshots.

        Raises:
            SerializerSnapshotError: One of them could not be read back.
        """
        return StoredSerializers(
            stored_snapshot_of(self.key, name),
            stored_snapshot_of(self.value, name),
            b"" if self.map_key is UNUSED else stored_snapshot_of(self.map_key, name),
            b"" if self.namespace is UNUSED else stored_snapshot_of(self.namespace, name),
        )

    def stored_for_timers(self, name: StateName) -> StoredSerializers:
        """Return the snapshots that are stored with timers, which have keys and may have namespaces.

        Raises:
            SerializerSnapshotError: One of them could not be read back.
        """
        namespace = b"" if self.namespace is UNUSED else stored_snapshot_of(self.namespace, name)
        return StoredSerializers(stored_snapshot_of(self.key, name), namespace=namespace)


PICKLED = StateSerializers(PickleSerializer(), PickleSerializer(), PickleSerializer(), PickleSerializer())
UNUSED = PickleSerializer()
"""Stands for a serializer that a state has no use for."""


@dataclass(frozen=True, slots=True)
class EvolvedSerializers:
    """Say how to go on with a state that was restored.

    Attributes:
        reader: Read what was written.
        writer: Write from now on.
        migrates: Whether the two differ, so that what was written has to be written anew.
        keys_changed: Whether anything is known of keys, or of those of maps or namespaces, that was not known before.
    """

    reader: StateSerializers
    writer: StateSerializers
    migrates: bool
    keys_changed: bool


def evolved_serializers(stored: StoredSerializers, now: StateSerializers, name: StateName) -> EvolvedSerializers:
    """Compare the serializers of a program with those that wrote a state of the same kind. Only values migrate.

    Raises:
        StateMigrationException: The state cannot follow.
        SerializerSnapshotError: What was stored cannot be read any more.
    """
    writer = replace(now, key=evolved(stored.key, now.key, name, "key", may_migrate=False).writer)
    if stored.map_key:
        map_key = evolved(stored.map_key, now.map_key, name, "map key", may_migrate=False)
        writer = replace(writer, map_key=map_key.writer)
    if stored.namespace:
        namespace = evolved(stored.namespace, now.namespace, name, "namespace", may_migrate=False)
        writer = replace(writer, namespace=namespace.writer)
    value = evolved(stored.value, now.value, name)
    writer = replace(writer, value=value.writer)
    migrates = value.reader is not value.writer
    keys = ((stored.key, now.key), (stored.map_key, now.map_key), (stored.namespace, now.namespace))
    keys_changed = any(before and before != stored_snapshot_of(serializer, name) for before, serializer in keys)
    return EvolvedSerializers(replace(writer, value=value.reader), writer, migrates, keys_changed)


def restored_serializers(stored: StoredSerializers) -> StateSerializers:
    """Return the serializers that wrote a state, for reading it without a program that asks for it."""
    value = snapshot_from_bytes(stored.value).restore_serializer()
    return replace(restored_key_serializers(stored), value=value)


def restored_key_serializers(stored: StoredSerializers) -> StateSerializers:
    """Return the serializers that wrote the keys of a state; that of its values is of no use."""
    key, map_key, namespace = (
        snapshot_from_bytes(data).restore_serializer() if data else UNUSED
        for data in (stored.key, stored.map_key, stored.namespace)
    )
    return StateSerializers(key, PICKLED.value, map_key, namespace)


def readable_key_serializers(stored: StoredSerializers, what: str) -> StateSerializers:
    """Return the serializers that wrote the keys of something.

    Args:
        stored: What is stored of them.
        what: What it is, for messages: "state 'count'".

    Raises:
        SerializerSnapshotError: They cannot be restored.
    """
    try:
        return restored_key_serializers(stored)
    except SerializerSnapshotError as error:
        raise SerializerSnapshotError(f"the keys of {what} cannot be read: {error}") from error
