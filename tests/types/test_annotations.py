"""Annotations as types: what each stands for, and what is no type."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import enum
import typing
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import numpy as np
import pytest

from rekindle.common import Instant, Row, Types
from rekindle.common.annotations import as_type_info, type_of_annotation
from rekindle.serialization import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.basic_typeinfo import BasicTypeInfo
from rekindle.types.class_typeinfo import EnumTypeInfo, PojoTypeInfo, SerializerTypeInfo
from rekindle.types.native_typeinfo import (
    ContainerTypeInfo,
    NamedTupleTypeInfo,
    NativeTypeInfo,
    NullableTypeInfo,
)
from rekindle.types.type_information import TypeInformation

T = TypeVar("T")
UserId = typing.NewType("UserId", int)
PICKLED = Types.PICKLED_BYTE_ARRAY()


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Address:
    street: str


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


class Event(msgspec.Struct):
    at: int


class Pair(NamedTuple):
    left: int
    right: list[str]


class Unresolved(NamedTuple):
    left: "NowhereDefined"  # type: ignore[name-defined]  # noqa: F821, UP037
    right: int


class Plain:
    pass


class Text(str):
    __slots__ = ()


KNOWN: list[tuple[Any, TypeInformation]] = [
    (str, Types.STRING()),
    (int, Types.BIG_INT()),
    (float, Types.DOUBLE()),
    (bool, Types.BOOLEAN()),
    (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (Decimal, Types.BIG_DEC()),
    (Instant, Types.INSTANT()),
    (dt.date, Types.SQL_DATE()),
    (dt.datetime, NativeTypeInfo(dt.datetime)),
    (dt.time, NativeTypeInfo(dt.time)),
    (dt.timedelta, NativeTypeInfo(dt.timedelta)),
    (UUID, NativeTypeInfo(UUID)),
    (Color, EnumTypeInfo(Color)),
    (Address, PojoTypeInfo(Address)),
    (Event, PojoTypeInfo(Event)),
    (Box[int], PojoTypeInfo(Box)),
    (Pair, NamedTupleTypeInfo(Pair, [Types.BIG_INT(), Types.LIST(Types.STRING())])),
    (Unresolved, NamedTupleTypeInfo(Unresolved, [PICKLED, PICKLED])),
    (list[int], Types.LIST(Types.BIG_INT())),
    (typing.List[int], Types.LIST(Types.BIG_INT())),  # noqa: UP006 - as programs write it
    (list[Any], Types.LIST(PICKLED)),
    (dict[str, float], Types.MAP(Types.STRING(), Types.DOUBLE())),
    (dict[str, Plain], Types.MAP(Types.STRING(), PICKLED)),
    (set[str], ContainerTypeInfo(set, Types.STRING())),
    (frozenset[int], ContainerTypeInfo(frozenset, Types.BIG_INT())),
    (tuple[int, str], Types.TUPLE([Types.BIG_INT(), Types.STRING()])),
    (tuple[int, ...], ContainerTypeInfo(tuple, Types.BIG_INT())),
    (tuple[()], Types.TUPLE([])),
    (int | None, NullableTypeInfo(Types.BIG_INT())),
    (typing.Optional[list[int]], NullableTypeInfo(Types.LIST(Types.BIG_INT()))),  # noqa: UP045 - as programs write it
    (typing.Annotated[int, "unit"], Types.BIG_INT()),
    (typing.Final[int], Types.BIG_INT()),
    (UserId, Types.BIG_INT()),
    (typing.Literal["a", "b"], Types.STRING()),
    (Types.INT(), Types.INT()),
    (list[dict[str, Color | None]], Types.LIST(Types.MAP(Types.STRING(), NullableTypeInfo(EnumTypeInfo(Color))))),
]

OBJECTS: list[Any] = [
    Any,
    object,
    list,
    dict,
    tuple,
    set,
    frozenset,
    int | str,
    Plain | None,
    collections.abc.Callable[[int], str],
    collections.abc.Sequence[int],
    typing.Literal[1, "a"],
]


@pytest.mark.parametrize(("annotation", "type_info"), KNOWN, ids=str)
def test_annotations_stand_for_types(annotation: Any, type_info: TypeInformation) -> None:
    assert type_of_annotation(annotation) == type_info
    assert as_type_info(annotation, "The type") == type_info


@pytest.mark.parametrize("annotation", [*OBJECTS, T, Plain, Text, Row, None, "int", typing.ClassVar, ...], ids=str)
def test_other_annotations_stand_for_any_object(annotation: Any) -> None:
    assert type_of_annotation(annotation) is None


@pytest.mark.parametrize("annotation", OBJECTS, ids=str)
def test_annotations_that_say_nothing_of_a_value_mean_pickles(annotation: Any) -> None:
    assert as_type_info(annotation, "The type") == PICKLED


@pytest.mark.parametrize("annotation", [annotation for annotation, _ in KNOWN])
def test_every_type_of_an_annotation_has_a_serializer(annotation: Any) -> None:
    type_info = type_of_annotation(annotation)
    assert type_info is not None
    assert serializer_of(type_info) == serializer_of(type_info)


def test_a_serializer_is_a_type() -> None:
    serializer = PickleSerializer()
    type_info = as_type_info(serializer, "The type")
    assert type_info == SerializerTypeInfo(serializer)
    assert serializer_of(type_info) is serializer


def test_a_type_without_its_parentheses_is_hinted_at() -> None:
    with pytest.raises(TypeError, match=r"The value type must be type information, got .*; add the parentheses"):
        as_type_info(Types.INT, "The value type")


@pytest.mark.parametrize("given", [None, 5, "int", [int], BasicTypeInfo, PickleSerializer, T, np.arange(3)])
def test_what_is_no_type_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="The type must be type information, got"):
        as_type_info(given, "The type")


def test_a_class_that_only_pickle_takes_has_to_be_called_so() -> None:
    with pytest.raises(TypeError, match=r"got the class Plain.*make it a dataclass, or say Types.PICKLED_BYTE_ARRAY"):
        as_type_info(Plain, "The type")


def test_type_information_of_ones_own_needs_a_serializer() -> None:
    class Mine(TypeInformation):
        pass

    with pytest.raises(TypeError, match="there is no serializer for"):
        serializer_of(Mine())


def test_type_information_made_of_another_has_its_serializer() -> None:
    class Mine(BasicTypeInfo):
        pass

    assert serializer_of(Mine(Types.INT().basic_type)) == serializer_of(Types.INT())
