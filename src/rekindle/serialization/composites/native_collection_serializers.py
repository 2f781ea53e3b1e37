"""Serializers of sets, tuples of any length and named tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes.class_names import ClassName, class_named, note_class_in_use, require_lasting_name
from rekindle.serialization.composites.tuple_serializer import TupleSerializer, TupleSerializerSnapshot
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer, as_msgpack, encode
from rekindle.serialization.encodings.stand_ins import named_tuple_stand_in
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["FrozensetSerializer", "NamedTupleSerializer", "SetSerializer", "VariadicTupleSerializer"]


class _ContainerSerializer(MsgpackSerializer[Any]):
    """Serialize containers of elements of one type.

    Attributes:
        element: The serializer of the elements.
    """

    container: ClassVar[Any]
    packs = unpacks = True

    _snapshot_class: ClassVar[type[CompositeTypeSerializerSnapshot[Any]]]

    def __init__(self, element: TypeSerializer[Any]) -> None:
        self.element = element
        self._part = as_msgpack(element)
        self.packed_type = list[self._part.packed_type]  # type: ignore[name-defined]
        super().__init__()

    def pack(self, element: Any) -> list[Any]:
        """Pack the elements."""
        if not isinstance(element, self.container):
            raise SerializationError(f"{element!r} ({type(element).__name__}) is not of type {self._name()}")
        return self._part.pack_all(list(element))

    def unpack(self, packed: list[Any]) -> Any:
        """Unpack the elements."""
        element = self.container(self._part.unpack_all(packed))
        if len(element) < len(packed):
            raise SerializationError(
                f"two elements of a {self._name()} have become one: they lost what told them apart"
            )
        return element

    def create_instance(self) -> Any:
        """Return an empty container."""
        return self.container()

    def snapshot_configuration(self) -> CompositeTypeSerializerSnapshot[Any]:
        """Return a snapshot with that of the elements."""
        return self._snapshot_class(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.element,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element!r})"


class SetSerializer(_ContainerSerializer):
    """Serialize sets."""

    container = set


class FrozensetSerializer(_ContainerSerializer):
    """Serialize frozen sets; equal ones to equal bytes."""

    container = frozenset

    def pack(self, element: Any) -> list[Any]:
        """Pack the elements, in an order that does not depend on how the set was made."""
        return sorted(super().pack(element), key=encode)

    def is_immutable_type(self) -> bool:
        """Return True."""
        return True


class VariadicTupleSerializer(_ContainerSerializer):
    """Serialize tuples of any length, with elements of one type."""

    container = tuple

    def is_immutable_type(self) -> bool:
        """Return what the serializer of the elements says."""
        return self.element.is_immutable_type()


class _ContainerSerializerSnapshot(CompositeTypeSerializerSnapshot[Any]):
    """Remember of what containers were."""

    _serializer_class: ClassVar[type[_ContainerSerializer]]

    def __init_subclass__(cls, of: type[_ContainerSerializer], **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._serializer_class = of
        of._snapshot_class = cls

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: _ContainerSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializer of the elements."""
        return (outer_serializer.element,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> _ContainerSerializer:
        """Return a serializer of containers of such elements."""
        (element,) = nested_serializers
        return self._serializer_class(element)

    def nested_name(self, position: int) -> str:
        """Name the type of the elements."""
        return "element"

    def describe(self) -> str:
        """Name the type for people."""
        any_length = ", ..." if self._serializer_class.container is tuple else ""
        return f"{self._serializer_class.container.__name__}[{self._nested[0].describe()}{any_length}]"


class SetSerializerSnapshot(_ContainerSerializerSnapshot, of=SetSerializer):
    """Remember of what sets were."""


class FrozensetSerializerSnapshot(_ContainerSerializerSnapshot, of=FrozensetSerializer):
    """Remember of what frozen sets were."""


class VariadicTupleSerializerSnapshot(_ContainerSerializerSnapshot, of=VariadicTupleSerializer):
    """Remember of what tuples of any length were."""


class NamedTupleSerializer(TupleSerializer):
    """Serialize named tuples of a class; tuples of as many fields are made such.

    Attributes:
        cls: The class.
        fields: The serializers of the fields.
    """

    unpacks = True

    def __init__(self, cls: type[Any], fields: Iterable[TypeSerializer[Any]]) -> None:
        super().__init__(*fields)
        self.cls = cls
        self.unpacks = True
        self._make = cls._make
        note_class_in_use(cls)

    def unpack(self, packed: tuple[Any, ...]) -> Any:
        """Unpack the fields, and make a named tuple of them."""
        return self._make(self._parts.unpack(packed) if self._parts.unpacks else packed)

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many named tuples, column by column."""
        return list(map(self._make, self._parts.unpack_all(packed) if self._parts.unpacks else packed))

    def create_instance(self) -> Any:
        """Return a named tuple of empty fields."""
        return self.cls._make(super().create_instance())

    def snapshot_configuration(self) -> NamedTupleSerializerSnapshot:
        """Return a snapshot that knows the class, and the snapshots of the fields."""
        return NamedTupleSerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.cls, self.fields)

    def __repr__(self) -> str:
        return f"NamedTupleSerializer({self.cls.__qualname__}, {list(self.fields)!r})"


class NamedTupleSerializerSnapshot(TupleSerializerSnapshot):
    """Remember the class and the fields of named tuples. Fields are found by their position."""

    def __init__(self, serializer: NamedTupleSerializer | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        super().__init__(serializer)
        self._cls = None if serializer is None else serializer.cls
        self._class_name = ClassName("", "") if serializer is None else ClassName.of(serializer.cls)
        self._names: list[str] = [] if serializer is None else list(serializer.cls._fields)

    def write_outer_snapshot(self, output: DataOutputView) -> None:
        """Write the name of the class, and those of the fields."""
        if self._cls is not None:
            require_lasting_name(self._cls)
        self._class_name.write(output)
        output.write_int(len(self._names))
        for name in self._names:
            output.write_utf(name)

    def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
        """Read the name of the class, and those of the fields."""
        self._class_name = ClassName.read(input_view)
        self._names = [input_view.read_utf() for _ in range(input_view.read_int())]

    def is_outer_snapshot_compatible(self, new_serializer: NamedTupleSerializer) -> bool:
        """Return whether the class is still the same, and none of its fields stands where another one stood."""
        names = new_serializer.cls._fields
        moved = set(self._names) & set(names) != {
            old for old, new in zip(self._names, names, strict=True) if old == new
        }
        return self._class_name == ClassName.of(new_serializer.cls) and not moved

    def outer_reasons(self, old_serializer_snapshot: NamedTupleSerializerSnapshot) -> tuple[str, ...]:
        """Return which class became which, or that fields changed places."""
        old = old_serializer_snapshot
        if old._class_name != self._class_name:
            return (f"the class was {old._class_name} and is {self._class_name} now",)
        return (
            f"the fields of {self._class_name} were {', '.join(old._names)} and are {', '.join(self._names)} now; "
            "those of a named tuple are known by their position",
        )

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> NamedTupleSerializer:
        """Return a serializer of such named tuples."""
        cls: Any = class_named(self._class_name, self._stand_in) if self._cls is None else self._cls
        if not (issubclass(cls, tuple) and len(getattr(cls, "_fields", ())) == len(nested_serializers)):
            raise SerializerSnapshotError(
                f"state was written with {self._class_name}, a named tuple of {len(nested_serializers)} fields, which "
                "is another thing now"
            )
        return NamedTupleSerializer(cls, nested_serializers)

    def _stand_in(self, module: str, qualified: str) -> type:
        return named_tuple_stand_in(module, qualified, tuple(self._names))

    def nested_name(self, position: int) -> str:
        """Name a field."""
        return f"field {self._names[position]!r}"

    def describe(self) -> str:
        """Name the type for people."""
        return f"named tuple {self._class_name}"
