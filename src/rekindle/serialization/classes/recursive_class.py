"""Classes that hold themselves, as a tree does: inside, a serializer of such a class refers to the one around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

import msgspec

from rekindle.exceptions import SerializerSnapshotError
from rekindle.serialization.classes.class_names import ClassName
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.encodings.plain_check import holder_of
from rekindle.serialization.snapshots.type_change import type_changed
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer


class Enclosing:
    """Stand for a serializer that is being made, for those inside to refer to.

    Attributes:
        serializer: The serializer, as soon as it is made.
    """

    serializer: MsgpackSerializer[Any]

    @cached_property
    def packed(self) -> type[Any]:
        """Return what checks packed instances."""
        return holder_of(self.serializer.packed_type)


_ENCLOSING: ContextVar[dict[ClassName, Enclosing] | None] = ContextVar("enclosing serializers", default=None)


@contextmanager
def making_serializer_of(name: ClassName) -> Iterator[Enclosing]:
    """Let serializers that are made meanwhile refer to one of this class."""
    enclosing = Enclosing()
    token = _ENCLOSING.set({**(_ENCLOSING.get() or {}), name: enclosing})
    try:
        yield enclosing
    finally:
        _ENCLOSING.reset(token)


def enclosing_serializer_of(name: ClassName) -> Enclosing | None:
    """Return the serializer of a class that is being made around this point, if there is one."""
    return (_ENCLOSING.get() or {}).get(name)


class RecursiveReference(MsgpackSerializer[Any]):
    """Serialize instances of a class inside instances of it, as the serializer around does."""

    # The type would hold itself. What is inside is checked when it is unpacked.
    packed_type = Any
    packs = unpacks = True

    def __init__(self, name: ClassName, enclosing: Enclosing) -> None:
        self._class_name = name
        self._enclosing = enclosing
        super().__init__()

    def pack(self, element: Any) -> Any:
        """Turn an instance into its packed form."""
        return self._enclosing.serializer.pack(element)

    def unpack(self, packed: Any) -> Any:
        """Turn the packed form into an instance."""
        return self._enclosing.serializer.unpack(msgspec.convert((packed,), self._enclosing.packed).value)

    def snapshot_configuration(self) -> TypeSerializerSnapshot[Any]:
        """Return the name of the class."""
        return RecursiveReferenceSnapshot(self._class_name)

    def _identity(self) -> tuple[Any, ...]:
        return (self._class_name,)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a reference to a serializer goes nowhere without that serializer")

    def _name(self) -> str:
        return str(self._class_name)

    def __repr__(self) -> str:
        return f"RecursiveReference({self._class_name})"


class RecursiveReferenceSnapshot(TypeSerializerSnapshot[Any]):
    """Remember that a class holds itself; all else is in the snapshot around."""

    def __init__(self, name: ClassName | None = None) -> None:
        self._class_name = name or ClassName("", "")

    def get_current_version(self) -> int:
        """Return 1."""
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write the name of the class."""
        self._class_name.write(output)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read the name of the class."""
        self._class_name = ClassName.read(input_view)

    def restore_serializer(self) -> TypeSerializer[Any]:
        """Return a reference to the serializer that is being restored around this one."""
        enclosing = enclosing_serializer_of(self._class_name)
        if enclosing is None:
            raise SerializerSnapshotError(
                f"the snapshot of a serializer is damaged: it refers to that of {self._class_name}, and stands alone"
            )
        return RecursiveReference(self._class_name, enclosing)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say that nothing changes here: what does is said where the class is."""
        old = old_serializer_snapshot
        if isinstance(old, RecursiveReferenceSnapshot) and old._class_name == self._class_name:
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        return type_changed(old, self)

    def describe(self) -> str:
        """Name the type for people."""
        return str(self._class_name)
