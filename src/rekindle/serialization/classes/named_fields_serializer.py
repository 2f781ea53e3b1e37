"""What serializers of classes with named fields have in common: an instance is packed as the array of its fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, Optional, TypeVar

from rekindle.exceptions import SerializationError
from rekindle.serialization.classes.class_fields import ClassField, serializer_of_field
from rekindle.serialization.classes.class_names import ClassName, note_class_in_use, require_lasting_name
from rekindle.serialization.classes.recursive_class import (
    RecursiveReference,
    enclosing_serializer_of,
    making_serializer_of,
)
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer, as_msgpack, shown
from rekindle.serialization.scalars.basic_serializers import (
    BooleanSerializer,
    BytesArraySerializer,
    DoubleSerializer,
    StringSerializer,
)
from rekindle.serialization.scalars.integer_serializers import BigIntSerializer, LongSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

T = TypeVar("T")
Layout = tuple[tuple[str, TypeSerializer[Any]], ...]


class NamedFieldsSerializer(MsgpackSerializer[T]):
    """Serialize instances of a class with named fields as arrays, each field by the serializer of its annotation.

    Every field may be None. The layout, which fields the array has in which order, is that of the class, unless another
    is given: that of an older version of the class, for which only those fields are written and read that the class
    still has; the others are None in the array, and fields that the layout does not know start as they do in state
    that is migrated.

    Attributes:
        cls: The class.
        name: Its name.
        layout: The fields in the order of the array, each with its serializer.
    """

    packs = unpacks = True

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """Make a serializer, or a reference to the one that is being made for the same class around this one."""
        given = named | dict(zip(("cls", "layout"), arguments, strict=False))
        if isinstance(given.get("cls"), type) and given.get("layout") is None:
            name = ClassName.of(given["cls"])
            enclosing = enclosing_serializer_of(name)
            if enclosing is not None:
                return RecursiveReference(name, enclosing)
        return super().__new__(cls)

    def __init__(self, cls: type[T], layout: Layout | None = None) -> None:
        """Make a serializer of a class.

        Args:
            cls: The class.
            layout: The fields in the order in which they are written; None: those of the class, as it declares them.

        Raises:
            SerializationError: The class, or the type of a field, cannot be serialized.
        """
        self._fields = {field.name: field for field in self.fields_of(cls)}
        self.cls = cls
        self.name = ClassName.of(cls)
        if layout is None:
            with making_serializer_of(self.name) as enclosing:
                enclosing.serializer = self
                layout = tuple((name, serializer_of_field(field, self.name)) for name, field in self._fields.items())
            self._is_layout_of_class = True
        else:
            self._is_layout_of_class = False
        self.layout: Layout = layout
        self._packers = {name: as_msgpack(serializer) for name, serializer in layout}
        # msgspec takes a type made at run time; the type checker does not.
        packed_types = tuple(
            Optional[serializer.packed_type]  # noqa: UP045 - types with | have none with a string
            for serializer in self._packers.values()
        )
        self.packed_type = tuple[packed_types]  # type: ignore[valid-type]
        self.pack = self._compiled_pack()  # type: ignore[method-assign, assignment]
        self.unpack = self._compiled_unpack()  # type: ignore[method-assign, assignment]
        note_class_in_use(cls)
        super().__init__()

    @staticmethod
    @abstractmethod
    def fields_of(cls: Any) -> list[ClassField]:
        """Return the fields of a class."""

    @abstractmethod
    def is_frozen(self) -> bool:
        """Return whether the fields of an instance cannot be set."""

    @abstractmethod
    def snapshot(self) -> TypeSerializerSnapshot[T]:
        """Return the snapshot of this serializer."""

    @abstractmethod
    def constructor_source(self, variables: dict[str, Any], values: dict[str, str]) -> list[str]:
        """Return lines of Python that make an instance, named ``instance``.

        Args:
            variables: What the lines refer to; theirs are to be added.
            values: The expression of each field's value.
        """

    def snapshot_configuration(self) -> TypeSerializerSnapshot[T]:
        """Return the name of the class and the snapshots of its fields' serializers.

        Raises:
            SerializerSnapshotError: The class could not be found by its name later.
            SerializationError: The serializer of a field has no snapshot; the field is named.
        """
        require_lasting_name(self.cls)
        return self.snapshot()

    def is_immutable_type(self) -> bool:
        """Return whether neither an instance nor what its fields hold can change."""
        return self.is_frozen() and all(serializer.is_immutable_type() for _, serializer in self.layout)

    def create_instance(self) -> Any:
        """Return an instance whose fields are as those of state start that was written before they were added."""
        return type(self)(self.cls, ()).unpack(())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._is_layout_of_class:
            return type(self), (self.cls,)
        return _restored, (snapshot_to_bytes(self.snapshot()),)

    def _identity(self) -> tuple[Any, ...]:
        return self.cls, self.layout

    def _name(self) -> str:
        return str(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def _compiled_pack(self) -> Callable[[Any], Any]:
        """Make the function that packs: Python compiled for this layout is several times as fast as a loop."""
        variables: dict[str, Any] = {"cls": self.cls, "other_class": self._other_class, "refused": self._refused_field}
        lines = []
        items = []
        for position, (name, serializer) in enumerate(self._packers.items()):
            if name not in self._fields:
                items.append("None")
                continue
            value = f"value{position}"
            items.append(value)
            lines.append(f"{value} = element.{name}")
            if serializer.packs:
                variables[f"pack{position}"] = serializer.pack
                lines.append(f"if not ({value} is None{_or_as_it_is(_PACKED_AS_THEY_ARE, serializer, value)}):")
                lines.append(f"    {value} = pack{position}({value})")
        return _compiled(
            "pack",
            [
                "def pack(element):",
                "    if type(element) is not cls:",
                "        raise other_class(element)",
                "    try:",
                *(f"        {line}" for line in lines or ["pass"]),
                "    except RecursionError:",
                "        raise",
                "    except Exception as error:",
                "        raise refused(element, error, locals()) from error",
                f"    return {''.join(f'{item}, ' for item in items)}" if items else "    return ()",
            ],
            variables,
        )

    def _compiled_unpack(self) -> Callable[[Any], Any]:
        variables: dict[str, Any] = {"cls": self.cls}
        values = {}
        targets = []
        for position, (name, serializer) in enumerate(self._packers.items()):
            value = f"value{position}"
            targets.append(value)
            values[name] = value
            if serializer.unpacks:
                variables[f"unpack{position}"] = serializer.unpack
                as_it_is = _or_as_it_is(_UNPACKED_AS_THEY_ARE, serializer, value)
                values[name] = f"{value} if {value} is None{as_it_is} else unpack{position}({value})"
        for position, field in enumerate(self._fields.values()):
            if field.name not in values:
                variables[f"initial{position}"] = field.initial
                values[field.name] = f"initial{position}()"
        lines = [f"    {', '.join(targets)}, = packed"] if targets else []
        lines += [
            f"    {line}" for line in self.constructor_source(variables, {name: values[name] for name in self._fields})
        ]
        return _compiled("unpack", ["def unpack(packed):", *lines, "    return instance"], variables)

    def _other_class(self, element: Any) -> SerializationError:
        kind = ClassName.of(type(element))
        if isinstance(element, self.cls):
            return SerializationError(
                f"an instance of {kind} was given where the type is {self.name}, its base class: what {kind} adds "
                f"would be lost. Give the state the type {kind}, or leave it without a type"
            )
        return SerializationError(f"{shown(element)} was given where the type is {self.name}")

    def _refused_field(self, element: Any, error: Exception, reached: dict[str, Any]) -> SerializationError:
        """Return which field could not be packed: the last one whose value was looked at, or the one after it."""
        positions = [position for position, name in enumerate(self._packers) if name in self._fields]
        looked_at = [position for position in positions if f"value{position}" in reached]
        names = list(self._packers)
        missing = [names[position] for position in positions if not hasattr(element, names[position])]
        if missing:
            return SerializationError(f"field {missing[0]!r} of {self.name} has no value; give it one, such as None")
        name = names[looked_at[-1] if looked_at else positions[0]]
        return SerializationError(f"field {name!r} of {self.name}: {error}")

    def _refused(self, element: Any, error: Exception) -> SerializationError:
        """Return which field msgpack did not take."""
        if isinstance(error, RecursionError):
            return SerializationError(f"an instance of {self.name} contains others too deeply nested: {error}")
        for name, serializer in self._packers.items():
            value = getattr(element, name, None)
            try:
                if value is not None:
                    serializer.to_bytes(value)
            except SerializationError as reason:
                return SerializationError(f"field {name!r} of {self.name}: {reason}")
        return SerializationError(f"an instance of {self.name} cannot be serialized: {error}")


# Which values are packed, and unpacked, as they are. A test in place saves a call, which takes longer than the rest.
_FITS_64_BITS = f"type({{0}}) is int and {-(1 << 63)} <= {{0}} <= {(1 << 63) - 1}"
_PACKED_AS_THEY_ARE: dict[type, str] = {
    BigIntSerializer: _FITS_64_BITS,
    BooleanSerializer: "{0} is True or {0} is False",
    BytesArraySerializer: "type({0}) is bytes",
    DoubleSerializer: "type({0}) is float",
    LongSerializer: _FITS_64_BITS,
    StringSerializer: "type({0}) is str",
}
_UNPACKED_AS_THEY_ARE: dict[type, str] = {BigIntSerializer: "type({0}) is int"}


def _or_as_it_is(checks: dict[type, str], serializer: MsgpackSerializer[Any], value: str) -> str:
    check = checks.get(type(serializer))
    return f" or {check.format(value)}" if check else ""


def _compiled(name: str, lines: list[str], variables: dict[str, Any]) -> Callable[[Any], Any]:
    scope: dict[str, Any] = variables
    exec(_code("\n".join(lines)), scope)
    function: Callable[[Any], Any] = scope[name]
    return function


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Return compiled Python: serializers of one class are made many times, and layouts are alike."""
    return compile(source, "<serializer>", "exec")


def _restored(stored: bytes) -> TypeSerializer[Any]:
    return snapshot_from_bytes(stored).restore_serializer()
