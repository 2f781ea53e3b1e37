"""The serializer of anything: pickle. What it writes does not evolve."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.encodings.stand_ins import loads_with_stand_ins, stand_ins_allowed
from rekindle.serialization.snapshots.composite_snapshot import only_hinted
from rekindle.serialization.snapshots.moved_modules import loads_moved
from rekindle.serialization.snapshots.simple_snapshot import SimpleTypeSerializerSnapshot
from rekindle.serialization.snapshots.type_change import UndeclaredTypeSnapshot, incompatible_types
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import BytesSerializer

__all__ = ["UNPICKLABLE", "PickleSerializer", "PickleSerializerSnapshot", "unpicklable"]

NAMES_A_CLASS = pickle.STACK_GLOBAL
"""A byte that is in every pickle which refers to a class or a function; in others it may be, too."""

_dumps = pickle.dumps
_loads = pickle.loads


class PickleSerializer(BytesSerializer[Any]):
    """Serialize any object by pickle: the serializer of what was given no type.

    A class that changed is read as pickle reads it: fields that were added are missing. Give the state a dataclass, or
    another type that evolves, before there is state that must be kept.
    """

    takes_none = True
    doubtful = NAMES_A_CLASS  # what has no classes in it is made of what Python itself can always read

    def to_bytes(self, element: Any) -> bytes:
        """Return an element as bytes."""
        try:
            return _dumps(element, 5)
        except UNPICKLABLE as error:
            raise unpicklable(error) from error

    def from_bytes(self, data: bytes | memoryview) -> Any:
        """Return the element that these bytes were made of."""
        try:
            return _loads(data)
        except Exception as error:
            return _loads_otherwise(data, error)

    def all_to_bytes(self, elements: Sequence[Any]) -> bytes:
        """Return many elements as bytes."""
        try:
            return _dumps(elements if type(elements) is list else list(elements), 5)
        except UNPICKLABLE as error:
            raise unpicklable(error) from error

    def all_from_bytes(self, data: bytes | memoryview) -> list[Any]:
        """Return the elements that these bytes were made of."""
        try:
            elements = _loads(data)
        except Exception as error:
            elements = _loads_otherwise(data, error)
        if type(elements) is not list:
            raise SerializationError(f"the pickle holds no elements but a {type(elements).__name__}")
        return elements

    def converted(self, elements: list[Any]) -> list[Any]:
        """Return the elements: pickle changes nothing."""
        return elements

    def snapshot_configuration(self) -> TypeSerializerSnapshot[Any]:
        """Return a snapshot that knows of no evolution."""
        return PickleSerializerSnapshot()


class PickleSerializerSnapshot(SimpleTypeSerializerSnapshot[Any], UndeclaredTypeSnapshot):
    """Remember that elements were pickled."""

    def __init__(self) -> None:
        super().__init__(PickleSerializer)

    def describe(self) -> str:
        """Name the type for people."""
        return "pickled Python objects"

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say that pickles stay pickles, and that only what was typed by a hint alone becomes one."""
        old = old_serializer_snapshot
        if only_hinted(old):
            return TypeSerializerSchemaCompatibility.compatible_after_migration(
                f"the state was {old.describe()}, and is pickled now"
            )
        if isinstance(old, UndeclaredTypeSnapshot):
            return super().resolve_schema_compatibility(old)
        return incompatible_types(old, self, PICKLE_DOES_NOT_EVOLVE)

    def becoming(self, new: TypeSerializerSnapshot[Any]) -> TypeSerializerSchemaCompatibility:
        """Return what becomes of pickles: they are migrated to what a hint says, and else do not evolve."""
        if only_hinted(new):
            return TypeSerializerSchemaCompatibility.compatible_after_migration(
                f"the state was pickled, and is known to be {new.describe()} now"
            )
        return incompatible_types(self, new, PICKLE_DOES_NOT_EVOLVE)


UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError, RecursionError)
"""What pickle raises for an object that it cannot write."""


def unpicklable(error: Exception) -> SerializationError:
    """Say that an object cannot be pickled, and what to do about it."""
    return SerializationError(
        f"an object cannot be pickled: {type(error).__name__}: {error}. Locks, connections, open files and instances "
        "of classes that are defined inside a function can be neither state nor records"
    )


PICKLE_DOES_NOT_EVOLVE = "pickled objects have no schema, and cannot evolve from or to another type"


def _loads_otherwise(data: bytes | memoryview, error: Exception) -> Any:
    """Read a pickle whose classes are elsewhere now; or missing, where somebody only wants to look at it."""
    for loads in (loads_moved, loads_with_stand_ins) if stand_ins_allowed() else (loads_moved,):
        try:
            return loads(data)
        except Exception:
            continue
    raise _unreadable(error) from error


def _unreadable(error: Exception) -> SerializationError:
    return SerializationError(
        f"a pickle cannot be read: {type(error).__name__}: {error}. Pickled objects do not evolve: their classes must "
        "stay where they were when the state was written"
    )
