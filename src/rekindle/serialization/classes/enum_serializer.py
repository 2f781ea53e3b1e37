"""The serializer of the members of an ``enum.Enum``."""

from __future__ import annotations

from enum import Enum, Flag
from functools import reduce
from operator import or_
from typing import Any

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes.class_names import ClassName, class_named, note_class_in_use, require_lasting_name
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.encodings.stand_ins import enum_stand_in
from rekindle.serialization.snapshots.type_change import type_changed
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["EnumSerializer", "EnumSerializerSnapshot"]


class EnumSerializer(MsgpackSerializer[Enum]):
    """Serialize the members of an enum by their names, so that members can be added, reordered and given other values.

    Attributes:
        cls: The enum.
    """

    packed_type = str
    packs = unpacks = True

    def __init__(self, cls: type[Enum]) -> None:
        self.cls = cls
        # Names that are aliases of a member are read, and written as the member's own.
        self._members: dict[str, Any] = dict(cls.__members__)
        note_class_in_use(cls)
        super().__init__()

    def pack(self, element: Any) -> str:
        """Return the name of a member; of flags, the names."""
        if type(element) is not self.cls:
            raise SerializationError(f"{element!r} ({type(element).__name__}) is not a member of {self._name()}")
        name: str | None = element._name_
        return name if name in self._members else self._names_of_flags(element)

    def unpack(self, packed: str) -> Any:
        """Return the member of a name."""
        member = self._members.get(packed)
        return self._flags_named(packed) if member is None else member

    def is_immutable_type(self) -> bool:
        """Return True."""
        return True

    def snapshot_configuration(self) -> EnumSerializerSnapshot:
        """Return a snapshot that knows the class and its members."""
        return EnumSerializerSnapshot(self)

    def _names_of_flags(self, element: Any) -> str:
        names = [flag.name for flag in element]
        if reduce(or_, (self._members[name] for name in names), self.cls(0)) != element:
            raise SerializationError(f"{element!r} has bits that no member of {self._name()} has")
        return "|".join(names)

    def _flags_named(self, packed: str) -> Any:
        names = packed.split("|") if packed else []
        if not issubclass(self.cls, Flag) or any(name not in self._members for name in names):
            raise SerializationError(f"{packed!r} is not a member of {self._name()}")
        return reduce(or_, (self._members[name] for name in names), self.cls(0))

    def _identity(self) -> tuple[Any, ...]:
        return (self.cls,)

    def __repr__(self) -> str:
        return f"EnumSerializer({self.cls.__qualname__})"


class EnumSerializerSnapshot(TypeSerializerSnapshot[Enum]):
    """Remember an enum and the names of its members."""

    def __init__(self, serializer: EnumSerializer | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        self._cls = None if serializer is None else serializer.cls
        self._class_name = ClassName("", "") if serializer is None else ClassName.of(serializer.cls)
        self._written = [] if serializer is None else [member.name for member in serializer.cls]
        self._read = [] if serializer is None else list(serializer.cls.__members__)

    def get_current_version(self) -> int:
        """Return 1."""
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write the name of the class, and those of the members."""
        if self._cls is not None:
            require_lasting_name(self._cls)
        self._class_name.write(output)
        for names in (self._written, self._read):
            output.write_int(len(names))
            for name in names:
                output.write_utf(name)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read the name of the class, and those of the members."""
        self._class_name = ClassName.read(input_view)
        self._written = [input_view.read_utf() for _ in range(input_view.read_int())]
        self._read = [input_view.read_utf() for _ in range(input_view.read_int())]

    def restore_serializer(self) -> TypeSerializer[Enum]:
        """Return a serializer of the class as it is now."""
        cls = class_named(self._class_name, self._stand_in) if self._cls is None else self._cls
        if not issubclass(cls, Enum):
            raise SerializerSnapshotError(
                f"state was written with the enum {self._class_name}, which is no longer an enum"
            )
        return EnumSerializer(cls)

    def _stand_in(self, module: str, qualified: str) -> type:
        return enum_stand_in(module, qualified, tuple(self._read))

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say that members may come, but not go."""
        old = old_serializer_snapshot
        if not isinstance(old, EnumSerializerSnapshot) or old._class_name != self._class_name:
            return type_changed(old, self)
        gone = [name for name in old._written if name not in self._read]
        if gone:
            return TypeSerializerSchemaCompatibility.incompatible(
                *(
                    f"{self.describe()} has no member {name!r} any more, which state may hold; bring it back, or make "
                    "the name an alias of another member"
                    for name in gone
                )
            )
        return TypeSerializerSchemaCompatibility.compatible_as_is()

    def describe(self) -> str:
        """Name the type for people."""
        return f"enum {self._class_name}"
