"""Every serializer there is, with a strategy for its elements. Tests of what all serializers do go through this list.

A new serializer is tested by all of them once it stands in :data:`CATALOGUE`.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum, Flag, auto
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from hypothesis import strategies as st
from pyspark.sql import Row as SparkRow

from rekindle.common.annotations import as_type_info
from rekindle.common.time import Instant
from rekindle.common.typeinfo import ExternalTypeInfo, Types
from rekindle.common.types import Row, RowKind
from rekindle.datastream.window import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)
from rekindle.serialization.avro.avro_serializer import AvroSerializer
from rekindle.serialization.composites.tagged_union_serializer import TaggedUnionSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer
from rekindle.types.class_typeinfo import AvroTypeInfo
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.spark_rows import row_maker
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.time_typeinfo import LocalTimeTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer


class Color(Enum):
    """Be an enum."""

    RED = 1
    GREEN = 2
    BLUE = 3
    AZURE = 3  # noqa: PIE796 - an alias


class Access(Flag):
    """Be an enum of flags."""

    READ = auto()
    WRITE = auto()


class Point(NamedTuple):
    """Be a named tuple."""

    x: int
    label: str
    when: dt.datetime | None = None


@dataclass
class Parcel:
    """Be a dataclass, with what makes packing it hard."""

    weight: float
    label: str = ""
    number: int = 0
    colors: list[Color] = field(default_factory=list)
    inner: Parcel | None = None
    when: dict[str, dt.date | None] = field(default_factory=dict)


class Crate(msgspec.Struct, frozen=True, tag=True, rename="camel"):
    """Be a struct."""

    is_open: bool
    parcels: tuple[Parcel, ...] = ()
    outer: Crate | None = None


@dataclass(frozen=True)
class Address:
    """Be a dataclass that Avro has a type for."""

    street: str
    number: int
    color: Color | None
    days: list[dt.date]
    next: Address | None = None


@dataclass(frozen=True)
class Case:
    """Hold a serializer and what it takes.

    Attributes:
        name: What the test is called.
        serializer: The serializer.
        elements: A strategy for elements that come back as they are.
    """

    name: str
    serializer: TypeSerializer[Any]
    elements: st.SearchStrategy[Any]

    def __str__(self) -> str:
        return self.name


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same types throughout; a NaN is the same as another."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, list | tuple):
        fields = getattr(left, "__fields__", None) == getattr(right, "__fields__", None)
        return fields and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, Row):
        return (
            same(list(left), list(right))
            and left._fields == right._fields
            and left.get_row_kind() is right.get_row_kind()
        )
    if isinstance(left, dt.datetime | dt.time) and left.utcoffset() != right.utcoffset():
        return False
    return bool(left == right)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Return integers of a number of bits."""
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def _named_rows(names: tuple[str, ...], *values: st.SearchStrategy[Any]) -> st.SearchStrategy[Row]:
    def row(kind: RowKind, fields: tuple[Any, ...]) -> Row:
        made = Row(**dict(zip(names, fields, strict=True)))
        made.set_row_kind(kind)
        return made

    return st.builds(row, st.sampled_from(RowKind), st.tuples(*(st.none() | value for value in values)))


_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_offsets = st.builds(
    lambda minutes, seconds: dt.timezone(dt.timedelta(minutes=minutes, seconds=seconds)),
    st.integers(-1000, 1000),
    st.integers(0, 59),
)
# Of a time zone only the offset is kept, and Python calls times that a zone has twice unequal to those of an offset.
_aware = st.datetimes(timezones=_offsets)
_instants = st.builds(Instant, integers(64), st.integers(0, 999_999_999))
_decimals = st.decimals() | st.builds(lambda digits: Decimal(f"0.{digits}"), st.integers(0, 10**60))
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)


def _typed(name: str, given: Any, elements: st.SearchStrategy[Any]) -> Case:
    type_info = given if isinstance(given, TypeInformation) else as_type_info(given, name)
    return Case(name, serializer_of(type_info), elements)


def _or_none(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return elements | st.none()


_finite = st.floats(allow_nan=False)
_parcel = st.builds(
    Parcel,
    _or_none(_finite),
    _or_none(_texts),
    _or_none(st.integers()),
    st.lists(_or_none(st.sampled_from(Color)), max_size=3),
    when=st.dictionaries(_texts, _or_none(st.dates()), max_size=3),
)
_parcels = st.builds(lambda outer, inner: replace(outer, inner=inner), _parcel, _or_none(_parcel))
_crate = st.builds(Crate, st.booleans(), st.lists(_parcels, max_size=2).map(tuple))
_crates = st.builds(lambda outer, inner: Crate(outer.is_open, outer.parcels, inner), _crate, _or_none(_crate))
_address = st.builds(
    Address, _texts, integers(64), _or_none(st.sampled_from(Color)), st.lists(st.dates(), max_size=3), st.none()
)
_addresses = st.builds(lambda first, second: replace(first, next=second), _address, _or_none(_address))
_AVRO = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "place", "type": ["null", "string"]},
        {"name": "values", "type": {"type": "array", "items": ["double", "long", "boolean"]}},
        {"name": "raw", "type": {"type": "map", "values": "bytes"}},
    ],
}
_readings = st.builds(
    lambda place, values, raw: {"place": place, "values": values, "raw": raw},
    _or_none(_texts),
    st.lists(_finite | st.booleans(), max_size=3),
    st.dictionaries(_texts, st.binary(max_size=4), max_size=3),
)

_SPARK_ROW = SparkRowTypeInfo(
    ("user name", "count", "parts"), (Types.STRING(), NullableTypeInfo(Types.LONG()), Types.LIST(Types.STRING()))
)
_SPARK_VALUES = st.tuples(_or_none(_texts), _or_none(integers(64)), _or_none(st.lists(_or_none(_texts), max_size=3)))

_LocalTime = LocalTimeTypeInfo.TimeType
_single_chars = st.characters(codec="utf-8")
_floats32 = st.floats(width=32)

CATALOGUE: list[Case] = [
    _typed("STRING", Types.STRING(), _or_none(_texts)),
    _typed("BYTE", Types.BYTE(), integers(8)),
    _typed("SHORT", Types.SHORT(), integers(16)),
    _typed("INT", Types.INT(), integers(32)),
    _typed("LONG", Types.LONG(), integers(64)),
    _typed("FLOAT", Types.FLOAT(), _floats32),
    _typed("DOUBLE", Types.DOUBLE(), st.floats()),
    _typed("BOOLEAN", Types.BOOLEAN(), st.booleans()),
    _typed("CHAR", Types.CHAR(), _single_chars),
    _typed("BIG_INT", Types.BIG_INT(), _or_none(st.integers() | st.integers(-(10**60), 10**60))),
    _typed("BIG_DEC", Types.BIG_DEC(), _or_none(_decimals)),
    _typed("INSTANT", Types.INSTANT(), _or_none(_instants)),
    _typed("SQL_DATE", Types.SQL_DATE(), _or_none(st.dates())),
    _typed("SQL_TIME", Types.SQL_TIME(), _or_none(st.times())),
    _typed("SQL_TIMESTAMP", Types.SQL_TIMESTAMP(), _or_none(st.datetimes())),
    _typed("LOCAL_DATE", LocalTimeTypeInfo(_LocalTime.LOCAL_DATE), _or_none(st.dates())),
    _typed("LOCAL_TIME", LocalTimeTypeInfo(_LocalTime.LOCAL_TIME), _or_none(st.times())),
    _typed("LOCAL_DATE_TIME", LocalTimeTypeInfo(_LocalTime.LOCAL_DATE_TIME), _or_none(st.datetimes())),
    _typed("PRIMITIVE_ARRAY-BYTE", Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=20)),
    _typed("PRIMITIVE_ARRAY-INT", Types.PRIMITIVE_ARRAY(Types.INT()), st.lists(integers(32))),
    _typed("PRIMITIVE_ARRAY-FLOAT", Types.PRIMITIVE_ARRAY(Types.FLOAT()), st.lists(_floats32)),
    _typed("BASIC_ARRAY-LONG", Types.BASIC_ARRAY(Types.LONG()), st.lists(_or_none(integers(64)))),
    _typed("BASIC_ARRAY-STRING", Types.BASIC_ARRAY(Types.STRING()), st.lists(_or_none(_texts))),
    _typed("OBJECT_ARRAY-LIST", Types.OBJECT_ARRAY(Types.LIST(Types.FLOAT())), st.lists(_or_none(st.lists(_floats32)))),
    _typed("LIST-LONG", Types.LIST(Types.LONG()), st.lists(_or_none(integers(64)))),
    _typed("LIST-LIST-BIG_INT", Types.LIST(Types.LIST(Types.BIG_INT())), st.lists(st.lists(_or_none(st.integers())))),
    _typed("LIST-PICKLED", Types.LIST(Types.PICKLED_BYTE_ARRAY()), st.lists(_anything, max_size=4)),
    _typed("MAP-STRING-LONG", Types.MAP(Types.STRING(), Types.LONG()), st.dictionaries(_texts, _or_none(integers(64)))),
    _typed(
        "MAP-DATE-FLOAT", Types.MAP(Types.SQL_DATE(), Types.FLOAT()), st.dictionaries(st.dates(), _or_none(_floats32))
    ),
    _typed(
        "MAP-TUPLE-LIST",
        Types.MAP(Types.TUPLE([Types.INT(), Types.STRING()]), Types.LIST(Types.STRING())),
        st.dictionaries(st.tuples(integers(32), _texts), st.lists(_texts), max_size=4),
    ),
    _typed(
        "TUPLE-plain",
        Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN()]),
        st.tuples(_or_none(_texts), integers(64), st.floats(), st.booleans()),
    ),
    _typed(
        "TUPLE-mixed",
        Types.TUPLE([Types.STRING(), Types.FLOAT(), Types.LIST(Types.BIG_DEC()), Types.SQL_DATE(), Types.BIG_INT()]),
        st.tuples(_texts, _floats32, st.lists(_decimals, max_size=3), _or_none(st.dates()), st.integers()),
    ),
    _typed("TUPLE-empty", Types.TUPLE([]), st.just(())),
    _typed("TUPLE-pickled", Types.TUPLE([Types.INT(), Types.PICKLED_BYTE_ARRAY()]), st.tuples(integers(32), _anything)),
    _typed("ROW", Types.ROW([Types.STRING(), Types.INT()]), _named_rows(("f0", "f1"), _texts, integers(32))),
    _typed(
        "ROW_NAMED-nested",
        Types.ROW_NAMED(
            ["id", "inner", "days"],
            [Types.FLOAT(), Types.ROW_NAMED(["a"], [Types.CHAR()]), Types.LIST(Types.SQL_DATE())],
        ),
        _named_rows(
            ("id", "inner", "days"), _floats32, _named_rows(("a",), _single_chars), st.lists(st.dates(), max_size=3)
        ),
    ),
    _typed("ROW-empty", Types.ROW([]), st.builds(lambda: serializer_of(Types.ROW([])).create_instance())),
    _typed("ExternalTypeInfo", ExternalTypeInfo(Types.INT()), integers(32)),
    _typed("datetime", dt.datetime, st.datetimes() | _aware),
    _typed("time", dt.time, st.times() | st.times(timezones=st.builds(dt.timezone, st.just(dt.timedelta(hours=2))))),
    _typed("timedelta", dt.timedelta, st.timedeltas()),
    _typed("UUID", UUID, st.uuids()),
    _typed("set", set[int], st.sets(st.integers())),
    _typed("frozenset", frozenset[str], st.frozensets(_texts)),
    _typed("tuple-of-any-length", tuple[float, ...], st.lists(st.floats()).map(tuple)),
    _typed("optional", float | None, _or_none(st.floats())),
    _typed("optional-list", list[int] | None, _or_none(st.lists(st.integers()))),
    _typed("named-tuple", Point, st.builds(Point, st.integers(), _texts, _or_none(st.datetimes()))),
    _typed("enum", Color, st.sampled_from(Color)),
    _typed("flags", Access, st.sampled_from([Access(0), Access.READ, Access.WRITE, Access.READ | Access.WRITE])),
    _typed("map-of-enum", dict[Color, int], st.dictionaries(st.sampled_from(Color), st.integers())),
    _typed(
        "annotation-nested",
        dict[str, list[tuple[int, Color | None]]],
        st.dictionaries(_texts, st.lists(st.tuples(st.integers(), _or_none(st.sampled_from(Color))), max_size=3)),
    ),
    _typed("dataclass", Parcel, _parcels),
    _typed("list-of-dataclass", list[Parcel], st.lists(_parcels, max_size=3)),
    _typed("struct", Crate, _crates),
    _typed("avro", AvroTypeInfo(_AVRO), _readings),
    Case("avro-dataclass", AvroSerializer.of(Address), _addresses),
    _typed("list-of-avro", Types.LIST(AvroTypeInfo(_AVRO)), st.lists(_readings, max_size=3)),
    Case("time-window", TimeWindowSerializer(), st.builds(TimeWindow, integers(64), integers(64))),
    Case("count-window", CountWindowSerializer(), st.builds(CountWindow, integers(64))),
    Case("global-window", GlobalWindowSerializer(), st.just(GlobalWindow.get())),
    Case(
        "tagged-union",
        TaggedUnionSerializer(serializer_of(Types.LONG()), serializer_of(as_type_info(Parcel, "two"))),
        st.tuples(st.just(0), integers(64)) | st.tuples(st.just(1), _parcels),
    ),
    Case(
        "tagged-union-PICKLED",
        TaggedUnionSerializer(PickleSerializer(), serializer_of(Types.STRING())),
        st.tuples(st.just(0), _anything) | st.tuples(st.just(1), _or_none(_texts)),
    ),
    Case(
        "spark-row",
        serializer_of(_SPARK_ROW),
        st.one_of(
            st.builds(row_maker(_SPARK_ROW.names), _SPARK_VALUES),
            st.builds(lambda values: SparkRow(**dict(zip(_SPARK_ROW.names, values, strict=True))), _SPARK_VALUES),
        ),
    ),
    Case(
        "inferred-key-PICKLED",
        InferredKeySerializer(serializer_of(NullableTypeInfo(Types.LONG()))),
        st.integers() | _anything,
    ),
    Case("PICKLED", PickleSerializer(), _anything),
]
"""All of them."""

MSGPACK_CASES = [case for case in CATALOGUE if "PICKLED" not in case.name and "pickled" not in case.name]
"""Those whose bytes hold no pickle, and so are safe to read from anywhere."""
