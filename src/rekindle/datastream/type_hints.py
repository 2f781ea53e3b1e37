"""Types out of the annotations of user functions, and out of the schemas of DataFrames.

A type that is only hinted at changes nothing that a program can see: records are neither converted nor shown otherwise,
and what does not fit is pickled as ever. It is used where it helps: the state of a reduction of dataclasses follows
when their fields change. An annotation that cannot be understood is no hint, and never an error.
"""

from __future__ import annotations

import collections.abc
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from rekindle.base.annotations import own_annotations
from rekindle.columns.traced_keys import traced_key
from rekindle.contracts.output_tag import OutputTag
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer, hinted_serializer
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer
from rekindle.types.annotations import type_of_annotation
from rekindle.types.class_typeinfo import EnumTypeInfo, PojoTypeInfo, SerializerTypeInfo
from rekindle.types.composite_typeinfo import TupleTypeInfo
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.type_information import TypeInformation

__all__ = ["returned_type", "state_key_type", "state_type", "yielded_type"]

_ITERABLES = (
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Collection,
    collections.abc.Sequence,
    list,
    set,
    frozenset,
)


def returned_type(function: Callable[..., Any]) -> TypeInformation | None:
    """Return the type that a callable is annotated to return; None without a hint."""
    return _hint(function, _same)


def yielded_type(function: Callable[..., Any]) -> TypeInformation | None:
    """Return the type of the elements of the iterable that a callable is annotated to return; None without a hint."""
    return _hint(function, _element)


def state_type(hint: TypeInformation | None) -> TypeInformation | None:
    """Return the type of state that holds values which a hint speaks of; None where it is pickled.

    Only classes of the user evolve, and only rows of a DataFrame have columns. Their state takes values of any other
    class as well.
    """
    if isinstance(hint, SparkRowTypeInfo):
        return SerializerTypeInfo(HintedSerializer(serializer_of(hint)))
    if not isinstance(hint, PojoTypeInfo | EnumTypeInfo):
        return None
    try:
        serializer = hinted_serializer(serializer_of(hint), hint.cls)
    except Exception:  # the class cannot be serialized by its fields
        return None
    return None if serializer is None else SerializerTypeInfo(serializer)


def state_key_type(hint: TypeInformation | None, key_selector: Callable[[Any], Any]) -> TypeInformation | None:
    """Return the type by which state keeps the keys of records that a hint speaks of; None where they are pickled.

    It is known where the records are rows of a DataFrame, and the selector only names columns.
    """
    if not isinstance(hint, SparkRowTypeInfo):
        return None
    key = traced_key(key_selector, hint.names)
    positions = () if key is None else (key,) if isinstance(key, int) else key
    types = [hint.field_types[position] for position in positions]
    if not types or not all(isinstance(of_column, NullableTypeInfo) for of_column in types):
        return None
    return SerializerTypeInfo(
        InferredKeySerializer(serializer_of(types[0] if isinstance(key, int) else TupleTypeInfo(types)))
    )


def _hint(function: Callable[..., Any], part: Callable[[Any], Any]) -> TypeInformation | None:
    try:
        return type_of_annotation(part(_return_annotation(function)))
    except Exception:  # names that do not exist, annotations that are no types, callables of any kind
        return None


def _return_annotation(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return function  # a class that is called gives an instance of it
    if not isinstance(function, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        function = type(function).__call__
    holder = types.SimpleNamespace(__annotations__={"return": own_annotations(function)["return"]})
    original = function
    while hasattr(original, "__wrapped__"):
        original = original.__wrapped__
    return typing.get_type_hints(holder, original.__globals__)["return"]


def _element(annotation: Any) -> Any:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        (annotation,) = (member for member in typing.get_args(annotation) if member is not types.NoneType)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _ITERABLES or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return _without_side_outputs(arguments[0])
    raise TypeError(f"{annotation!r} is not iterable")


def _without_side_outputs(annotation: Any) -> Any:
    """Leave out pairs of an output tag and a value: they go to other streams."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    results = tuple(member for member in typing.get_args(annotation) if not _is_side_output(member))
    return typing.Union[results] if results else annotation  # noqa: UP007 - of members in a tuple


def _is_side_output(annotation: Any) -> bool:
    if typing.get_origin(annotation) is not tuple:
        return False
    first = typing.get_args(annotation)[0]
    return (typing.get_origin(first) or first) is OutputTag


def _same(annotation: Any) -> Any:
    return annotation
