"""The serializer of dataclasses."""

from __future__ import annotations

import dataclasses
from inspect import getattr_static
from typing import Any, TypeVar

from rekindle.exceptions import SerializationError
from rekindle.serialization.classes.class_fields import ClassField, fields_of_dataclass
from rekindle.serialization.classes.class_names import ClassName
from rekindle.serialization.classes.fields_evolution import NamedFieldsSerializerSnapshot
from rekindle.serialization.classes.named_fields_serializer import Layout, NamedFieldsSerializer
from rekindle.serialization.encodings.stand_ins import dataclass_stand_in
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot

__all__ = ["DataclassSerializer", "DataclassSerializerSnapshot"]

T = TypeVar("T")
# What these hold besides the fields would be lost.
_HOLD_MORE = (BaseException, bytearray, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)


class DataclassSerializer(NamedFieldsSerializer[T]):
    """Serialize instances of a dataclass; its fields may be added, removed and reordered later.

    An instance that is read is made without its ``__init__`` and ``__post_init__``, as pickle does it: the fields are
    set, and no more.
    """

    def __init__(self, cls: type[T], layout: Layout | None = None) -> None:
        """Make a serializer of a class; see :class:`NamedFieldsSerializer`."""
        super().__init__(cls, layout)
        computed = any(isinstance(getattr_static(cls, name, None), property) for name in self._fields)
        self.always_readable = not computed and all(serializer.always_readable for _, serializer in self.layout)

    @staticmethod
    def fields_of(cls: Any) -> list[ClassField]:
        """Return the fields of a dataclass, in the order in which they are declared."""
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise SerializationError(f"{cls!r} is not a dataclass")
        for base in _HOLD_MORE:
            if issubclass(cls, base):
                raise SerializationError(
                    f"{ClassName.of(cls)} is a {base.__name__}, too, and holds more than its fields. Make the "
                    f"{base.__name__} a field of the dataclass"
                )
        return fields_of_dataclass(cls)

    def snapshot(self) -> TypeSerializerSnapshot[T]:
        """Return the snapshot of this serializer."""
        return DataclassSerializerSnapshot(self)

    def add_missing_fields(self, instance: T) -> None:
        """Set fields that an instance lacks: it was pickled before they were added."""
        for name, field in self._fields.items():
            if not hasattr(instance, name):
                object.__setattr__(instance, name, field.initial())

    def is_frozen(self) -> bool:
        """Return whether the class is frozen."""
        return bool(self.cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]

    def constructor_source(self, variables: dict[str, Any], values: dict[str, str]) -> list[str]:
        """Return lines that make an instance and set its fields one by one."""
        variables["new"] = object.__new__
        lines = ["instance = new(cls)"]
        if self.cls.__setattr__ is object.__setattr__:
            return lines + [f"instance.{name} = {value}" for name, value in values.items()]
        variables["set_field"] = object.__setattr__
        return lines + [f"set_field(instance, {name!r}, {value})" for name, value in values.items()]


class DataclassSerializerSnapshot(NamedFieldsSerializerSnapshot[T]):
    """Remember a dataclass."""

    kind = "dataclass"
    serializer_class = DataclassSerializer
    make_stand_in = staticmethod(dataclass_stand_in)

    @staticmethod
    def is_of_kind(cls: type) -> bool:
        """Return whether a class is a dataclass."""
        return dataclasses.is_dataclass(cls)
