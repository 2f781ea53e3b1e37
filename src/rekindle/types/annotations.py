"""Types out of what programs say in Python's own words: annotations, classes, serializers."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from rekindle.base.time import Instant
from rekindle.base.type_variables import T
from rekindle.types.basic_typeinfo import BasicTypeInfo, PickledBytesTypeInfo
from rekindle.types.class_typeinfo import EnumTypeInfo, PojoTypeInfo, SerializerTypeInfo
from rekindle.types.composite_typeinfo import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, TupleTypeInfo
from rekindle.types.native_typeinfo import (
    NATIVE_CLASSES,
    ContainerTypeInfo,
    NamedTupleTypeInfo,
    NativeTypeInfo,
    NullableTypeInfo,
)
from rekindle.types.time_typeinfo import DateTypeInfo
from rekindle.types.type_information import TypeInformation, require_type
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["TypeOf", "as_type_info", "type_of_annotation"]

TypeOf = TypeInformation[T] | TypeSerializer[T] | type[T] | types.UnionType | typing._SpecialForm
"""What says that values are of a type: a type out of ``Types``, a serializer, a class, or an annotation.

Checkers of types do not see what annotations such as ``str | None`` stand for: to them, such values are ``Any``.
"""

_SIMPLE: dict[Any, TypeInformation] = {
    str: BasicTypeInfo.STRING_TYPE_INFO(),
    int: BasicTypeInfo.BIG_INT_TYPE_INFO(),
    float: BasicTypeInfo.DOUBLE_TYPE_INFO(),
    bool: BasicTypeInfo.BOOLEAN_TYPE_INFO(),
    bytes: PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO()),
    Decimal: BasicTypeInfo.BIG_DEC_TYPE_INFO(),
    Instant: BasicTypeInfo.INSTANT_TYPE_INFO(),
    date: DateTypeInfo(),
    **{cls: NativeTypeInfo(cls) for cls in NATIVE_CLASSES},
}
_ANYTHING = (Any, object, list, dict, tuple, set, frozenset)


def type_of_annotation(annotation: Any) -> TypeInformation | None:
    """Return the type that an annotation stands for; None: any Python object."""
    if isinstance(annotation, TypeInformation):
        return annotation
    if isinstance(annotation, typing.NewType):
        return type_of_annotation(annotation.__supertype__)
    origin = typing.get_origin(annotation)
    if origin is None:
        return _of_class(annotation) if isinstance(annotation, type) else None
    if origin in (typing.Annotated, typing.Final):
        return type_of_annotation(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return _of_union(typing.get_args(annotation))
    if origin is typing.Literal:
        kinds = {type(value) for value in typing.get_args(annotation)}
        return type_of_annotation(kinds.pop()) if len(kinds) == 1 else None
    of_generic = _GENERICS.get(origin)
    return of_generic(typing.get_args(annotation)) if of_generic else _of_class(origin)


def as_type_info(given: Any, place: str) -> TypeInformation:
    """Return the type that a program means: type information, a class, an annotation, or a serializer.

    Args:
        given: What the program gave.
        place: Where it was given; named in the error.

    Raises:
        TypeError: It is not one of these, or it is a class that only pickle could store.
    """
    if isinstance(given, TypeInformation):
        return given
    if isinstance(given, TypeSerializer):
        return SerializerTypeInfo(given)
    type_info = type_of_annotation(given)
    if type_info is not None:
        return type_info
    if any(given is anything for anything in _ANYTHING) or typing.get_origin(given) is not None:
        return PickledBytesTypeInfo()
    if isinstance(given, type) and not issubclass(given, TypeInformation | TypeSerializer):
        raise TypeError(
            f"{place} must be a type, got the class {given.__qualname__}, which only pickle could "
            "store; make it a dataclass, or say Types.PICKLED_BYTE_ARRAY()."
        )
    return require_type(given, place)


def _of_class(cls: type) -> TypeInformation | None:
    known = _SIMPLE.get(cls)
    if known is not None:
        return known
    if issubclass(cls, Enum):
        return EnumTypeInfo(cls)
    if dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct):
        return PojoTypeInfo(cls)
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return _of_named_tuple(cls)
    return None


def _of_union(members: tuple[Any, ...]) -> TypeInformation | None:
    others = [member for member in members if member is not types.NoneType]
    if len(others) != 1 or len(others) == len(members):
        return None
    inner = type_of_annotation(others[0])
    return None if inner is None else NullableTypeInfo(inner)


def _of_tuple(arguments: tuple[Any, ...]) -> TypeInformation:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return ContainerTypeInfo(tuple, _part(arguments[0]))
    return TupleTypeInfo([_part(argument) for argument in arguments])


def _of_named_tuple(cls: Any) -> TypeInformation:
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # whatever evaluating an annotation raises, it says nothing about the type
        hints = {}
    return NamedTupleTypeInfo(cls, [_part(hints.get(name, Any)) for name in cls._fields])


def _part(annotation: Any) -> TypeInformation:
    return type_of_annotation(annotation) or PickledBytesTypeInfo()


_GENERICS: dict[Any, Callable[[tuple[Any, ...]], TypeInformation]] = {
    list: lambda arguments: ListTypeInfo(_part(arguments[0])),
    dict: lambda arguments: MapTypeInfo(_part(arguments[0]), _part(arguments[1])),
    set: lambda arguments: ContainerTypeInfo(set, _part(arguments[0])),
    frozenset: lambda arguments: ContainerTypeInfo(frozenset, _part(arguments[0])),
    tuple: _of_tuple,
}
