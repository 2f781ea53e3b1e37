"""Type information for types that annotations name and PyFlink has none for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from rekindle.types.type_information import TypeInformation, require_type

__all__ = ["ContainerTypeInfo", "NamedTupleTypeInfo", "NativeTypeInfo", "NullableTypeInfo"]

NATIVE_CLASSES: tuple[type, ...] = (datetime, time, timedelta, UUID)
_CONTAINERS: tuple[type, ...] = (set, frozenset, tuple)


class ValueTypeInfo(TypeInformation):
    """Be equal to what is of the same class and has the same attributes."""

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self.__dict__.values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self._parts()))


class NativeTypeInfo(ValueTypeInfo):
    """Describe a class of Python's own library whose instances are kept exactly.

    Attributes:
        cls: ``datetime.datetime``, ``datetime.time``, ``datetime.timedelta`` or ``uuid.UUID``.
    """

    def __init__(self, cls: type) -> None:
        if cls not in NATIVE_CLASSES:
            raise TypeError(f"{cls!r} is not one of {', '.join(native.__name__ for native in NATIVE_CLASSES)}")
        self.cls = cls

    def __repr__(self) -> str:
        return f"NativeTypeInfo<{self.cls.__name__}>"


class NullableTypeInfo(ValueTypeInfo):
    """Describe a type, and None.

    Attributes:
        inner: The type of what is not None.
    """

    def __init__(self, inner: TypeInformation) -> None:
        self.inner = require_type(inner, "The type in NullableTypeInfo")

    def __repr__(self) -> str:
        return f"NullableTypeInfo<{self.inner}>"


class ContainerTypeInfo(ValueTypeInfo):
    """Describe sets, frozen sets, or tuples of any length.

    Attributes:
        container: ``set``, ``frozenset`` or ``tuple``.
        element_type: The type of the elements.
    """

    def __init__(self, container: type, element_type: TypeInformation) -> None:
        if container not in _CONTAINERS:
            raise TypeError(f"{container!r} is not set, frozenset or tuple")
        self.container = container
        self.element_type = require_type(element_type, "The element type of ContainerTypeInfo")

    def __repr__(self) -> str:
        return f"ContainerTypeInfo<{self.container.__name__}, {self.element_type}>"


class NamedTupleTypeInfo(ValueTypeInfo):
    """Describe a class of named tuples.

    Attributes:
        cls: The class.
        field_types: The types of its fields, in order.
    """

    def __init__(self, cls: type, field_types: Iterable[TypeInformation]) -> None:
        names: tuple[str, ...] | None = getattr(cls, "_fields", None)
        if not (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(names, tuple)):
            raise TypeError(f"{cls!r} is not a named tuple class")
        self.cls = cls
        self.field_types = tuple(
            require_type(field_type, f"Field {name!r} of {cls.__name__}")
            for name, field_type in zip(names, field_types, strict=True)
        )

    def __repr__(self) -> str:
        return f"NamedTupleTypeInfo<{self.cls.__module__}.{self.cls.__qualname__}>"
