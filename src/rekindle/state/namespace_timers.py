"""Timers that belong to a key in a namespace, such as a window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from rekindle.exceptions import StateRestoreError
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.state_evolution import evolved
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_serializers import UNUSED, StateSerializers, StoredSerializers, restored_key_serializers
from rekindle.state.timers import TimerQueue, Timers
from rekindle.types.type_serializer import TypeSerializer


class NamespaceTimers(msgspec.Struct, frozen=True, array_like=True):
    """Hold the timers of a block."""

    keys: bytes
    timestamps: list[int]
    namespaces: bytes


class NamespaceTimerQueue(TimerQueue):
    """Keep the timers of one time domain; the key of each is ``(key, namespace)``, as that of namespaced state is."""

    __slots__ = ("_namespace_serializer",)

    def __init__(self, name: str, owner: StateOwner, namespace_serializer: TypeSerializer[Any]) -> None:
        super().__init__(name, owner)
        self._namespace_serializer = namespace_serializer

    def _state_key(self, key: Any) -> Any:
        return key[0]

    def serializers(self) -> StateSerializers:
        return replace(super().serializers(), namespace=self._namespace_serializer)

    def _encode(self, keys: list[Any], timestamps: list[int]) -> bytes:
        return _encoded(keys, timestamps, self.serializers())

    def _decode(self, data: bytes, stored: StoredSerializers) -> tuple[list[Any], list[int]]:
        name = self._owner.state(self.name)
        if not stored.namespace:
            raise StateRestoreError(
                f"the timers of operator {self._owner.name!r} (uid {self._owner.uid!r}) were set without a window, and "
                "the operator has windows now; give it another uid"
            )
        reader = evolved(stored.namespace, self._namespace_serializer, name, "namespace", may_migrate=False).reader
        timers = msgspec.msgpack.decode(data, type=NamespaceTimers)
        keys = self._key_reader(stored).all_from_bytes(timers.keys)
        return list(zip(keys, reader.all_from_bytes(timers.namespaces), strict=True)), timers.timestamps


def encode_timers(timers: list[tuple[Any, int]], serializers: StateSerializers) -> bytes:
    """Encode the timers of a block, each as ``TimerStore.pop_due`` gives it, for :func:`decode_timers` and queues."""
    keys, timestamps = [key for key, _ in timers], [timestamp for _, timestamp in timers]
    if serializers.namespace is not UNUSED:
        return _encoded(keys, timestamps, serializers)
    return msgspec.msgpack.encode(Timers(serializers.key.all_to_bytes(keys), timestamps))


def _encoded(keys: list[Any], timestamps: list[int], serializers: StateSerializers) -> bytes:
    own = serializers.key.all_to_bytes([key for key, _ in keys])
    namespaces = serializers.namespace.all_to_bytes([namespace for _, namespace in keys])
    return msgspec.msgpack.encode(NamespaceTimers(own, timestamps, namespaces))


def decode_timers(block: KeyGroupBlock, serializers: StateSerializers) -> list[tuple[Any, Any, int]]:
    """Return the timers of a block, each as its key, its namespace (None where there are none) and its timestamp."""
    assert block.serializers is not None
    if not block.serializers.namespace:
        timers = msgspec.msgpack.decode(block.data, type=Timers)
        keys = serializers.key.all_from_bytes(timers.keys)
        return [(key, None, timestamp) for key, timestamp in zip(keys, timers.timestamps, strict=True)]
    held = msgspec.msgpack.decode(block.data, type=NamespaceTimers)
    keys = serializers.key.all_from_bytes(held.keys)
    namespaces = serializers.namespace.all_from_bytes(held.namespaces)
    return list(zip(keys, namespaces, held.timestamps, strict=True))


def read_timers_back(block: KeyGroupBlock) -> None:
    """Read back the timers of a block that no queue has written.

    Raises:
        SerializationError: They cannot be read.
    """
    assert block.serializers is not None
    decode_timers(block, restored_key_serializers(block.serializers))
