"""Looks at values that a chunk left in states of plain declared types, so that a wrong type is named soon.

Live objects are kept as they are until they become bytes, in a snapshot or in RocksDB, which may be long after a wrong
one was put there. PyFlink writes them at the end of each bundle. Here the value of the key that came last in a chunk is
tried out at the end of the chunk, by the serializer that will write it: nothing is looked at record by record. What is
gone by then, or belongs to another key, is left to a later chunk and to the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer
from rekindle.state.blocks import StateSpec
from rekindle.state.shapes.value_shape import VALUE_SHAPE
from rekindle.state.state_evolution import StateName
from rekindle.types.type_serializer import TypeSerializer


class PlainValueCheck:
    """Check the values of one state."""

    __slots__ = ("_fitting", "_held", "_name", "_serializer", "_ttl")

    def __init__(self, name: StateName, serializer: TypeSerializer[Any], ttl: bool, held: Callable[[Any], Any]) -> None:
        """Check nothing yet.

        Args:
            name: The state.
            serializer: The serializer of its values.
            ttl: Whether it keeps pairs of value and last access.
            held: Returns what is kept for a key and is not bytes yet; None: nothing.
        """
        self._name = name
        self._serializer = serializer
        self._ttl = ttl
        self._held = held
        self._fitting: type | None = None  # of the last value that was written

    def check(self, key: Any) -> None:
        """Look at the value of a key.

        Raises:
            SerializationError: It does not fit the type of the state.
        """
        value = self._held(key)
        if self._ttl and value is not None:
            value = value[0]
        if value is None or type(value) is self._fitting:
            return
        try:
            self._serializer.to_bytes(value)
        except SerializationError as error:
            raise SerializationError(f"{self._name} has a value of another type for key {key!r}: {error}") from error
        self._fitting = type(value)


def is_checked(spec: StateSpec, serializer: TypeSerializer[Any]) -> bool:
    """Return whether the values of a state are looked at: one for each key, of a declared type that is plain."""
    return spec.kind.shape is VALUE_SHAPE and not spec.namespaced and isinstance(serializer, ScalarSerializer)
