"""Timers of a snapshot, read without the operator that set them."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.namespace_timers import NamespaceTimers
from rekindle.state.state_serializers import StateSerializers
from rekindle.state.timers import Timers


def decode_timers(block: KeyGroupBlock, serializers: StateSerializers) -> list[tuple[Any, Any, int]]:
    """Give the timers of a block, each as its key, its namespace (None where there are none) and its timestamp."""
    assert block.serializers is not None
    if not block.serializers.namespace:
        timers = msgspec.msgpack.decode(block.data, type=Timers)
        keys = serializers.key.all_from_bytes(timers.keys)
        return [(key, None, timestamp) for key, timestamp in zip(keys, timers.timestamps, strict=True)]
    held = msgspec.msgpack.decode(block.data, type=NamespaceTimers)
    keys = serializers.key.all_from_bytes(held.keys)
    namespaces = serializers.namespace.all_from_bytes(held.namespaces)
    return list(zip(keys, namespaces, held.timestamps, strict=True))
