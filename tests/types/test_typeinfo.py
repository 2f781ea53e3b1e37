from __future__ import annotations

import datetime
import itertools
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.common import Instant, Row, RowKind, TypeInformation, Types
from rekindle.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
)

DIFFERENT_TYPES = [
    (Types.STRING, "String"),
    (Types.BYTE, "Byte"),
    (Types.BOOLEAN, "Boolean"),
    (Types.SHORT, "Short"),
    (Types.INT, "Integer"),
    (Types.LONG, "Long"),
    (Types.FLOAT, "Float"),
    (Types.DOUBLE, "Double"),
    (Types.CHAR, "Char"),
    (Types.BIG_INT, "BigInteger"),
    (Types.BIG_DEC, "BigDecimal"),
    (Types.INSTANT, "Instant"),
    (Types.SQL_DATE, "DateTypeInfo"),
    (Types.SQL_TIME, "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP, "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY, "PickledByteArrayTypeInfo"),
    (lambda: Types.ROW([Types.STRING(), Types.INT()]), "RowTypeInfo(String, Integer)"),
    (lambda: Types.ROW_NAMED(["a"], [Types.INT()]), "RowTypeInfo(a: Integer)"),
    (lambda: Types.TUPLE([Types.STRING(), Types.INT()]), "TupleTypeInfo(String, Integer)"),
    (lambda: Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (lambda: Types.BASIC_ARRAY(Types.INT()), "BasicArrayTypeInfo<Integer>"),
    (lambda: Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (lambda: Types.OBJECT_ARRAY(Types.INT()), "ObjectArrayTypeInfo<Integer>"),
    (lambda: Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
    (lambda: Types.MAP(Types.STRING(), Types.INT()), "MapTypeInfo<String, Integer>"),
    (lambda: Types.MAP(Types.INT(), Types.STRING()), "MapTypeInfo<Integer, String>"),
    (lambda: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), "LocalTimeTypeInfo<LOCAL_DATE>"),
    (lambda: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), "LocalTimeTypeInfo<LOCAL_TIME>"),
    (lambda: ExternalTypeInfo(Types.INT()), "ExternalTypeInfo<Integer>"),
]


@pytest.mark.parametrize(("make", "text"), DIFFERENT_TYPES, ids=[text for _, text in DIFFERENT_TYPES])
def test_a_type_is_a_value_and_reads_as_pyflinks(make: Any, text: str) -> None:
    assert isinstance(make(), TypeInformation)
    assert make() == make()
    assert hash(make()) == hash(make())
    assert repr(make()) == str(make()) == text
    assert pickle.loads(pickle.dumps(make())) == make()


def test_different_types_are_not_equal() -> None:
    for (one, _), (other, _) in itertools.combinations(DIFFERENT_TYPES, 2):
        assert one() != other()
    assert Types.INT() != "Integer"


def test_names_of_fields_do_not_count_in_comparing_row_types() -> None:
    named = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
    assert named == Types.ROW([Types.STRING(), Types.INT()])
    assert hash(named) == hash(Types.ROW([Types.STRING(), Types.INT()]))
    assert named != Types.ROW([Types.INT(), Types.STRING()])


def test_a_row_type_tells_its_fields() -> None:
    named = RowTypeInfo([Types.STRING(), Types.INT()], ["a", "b"])
    assert named.get_field_types() == [Types.STRING(), Types.INT()]
    assert named.get_field_names() == ["a", "b"]
    assert named.get_field_index("b") == 1
    with pytest.raises(ValueError, match="'q'"):
        named.get_field_index("q")


def test_fields_without_names_are_numbered_without_becoming_named() -> None:
    unnamed = Types.ROW([Types.STRING(), Types.INT()])
    assert unnamed.get_field_names() == ["f0", "f1"]
    assert unnamed.get_field_index("f0") == -1
    assert repr(unnamed) == "RowTypeInfo(String, Integer)"


@pytest.mark.parametrize(("names", "problem"), [(["a", "a"], "not unique"), (["a"], "different")])
def test_a_row_type_needs_one_name_for_each_field(names: list[str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Types.ROW_NAMED(names, [Types.INT(), Types.INT()])


def test_parts_of_types_can_be_read() -> None:
    assert BasicTypeInfo(BasicType.INT).basic_type is BasicType.INT
    assert Types.TUPLE([Types.INT()]).get_field_types() == [Types.INT()]
    assert Types.LIST(Types.INT()).element_type == Types.LIST(Types.INT()).elem_type == Types.INT()
    assert Types.OBJECT_ARRAY(Types.INT()).element_type == Types.INT()
    assert Types.MAP(Types.INT(), Types.STRING()).key_type == Types.INT()
    assert Types.MAP(Types.INT(), Types.STRING()).value_type == Types.STRING()


@pytest.mark.parametrize(
    "make",
    [
        lambda bad: Types.ROW([Types.INT(), bad]),
        lambda bad: Types.TUPLE([bad]),
        Types.LIST,
        Types.OBJECT_ARRAY,
        lambda bad: Types.MAP(bad, Types.INT()),
        lambda bad: Types.MAP(Types.INT(), bad),
        ExternalTypeInfo,
    ],
)
def test_a_type_made_of_something_else_is_refused_with_advice(make: Any) -> None:
    with pytest.raises(TypeError, match="add the parentheses"):
        make(Types.INT)
    with pytest.raises(TypeError, match="take one from Types"):
        make("int")


def test_arrays_of_basic_values_take_basic_types_only() -> None:
    with pytest.raises(TypeError, match=r"String.*OBJECT_ARRAY"):
        PrimitiveArrayTypeInfo(Types.STRING())
    with pytest.raises(TypeError, match="BigInteger"):
        BasicArrayTypeInfo(Types.BIG_INT())
    with pytest.raises(TypeError, match="ListTypeInfo"):
        BasicArrayTypeInfo(Types.LIST(Types.INT()))


@pytest.mark.parametrize(
    ("type_info", "value", "internal"),
    [
        (Types.SQL_DATE(), datetime.date(1970, 1, 11), 10),
        (Types.INSTANT(), Instant(5, 123_000_000), 5_123_000),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 2, 3, 4, 5, 678), None),
        (Types.SQL_TIME(), datetime.time(1, 2, 3, 4), None),
        (Types.STRING(), "a", "a"),
    ],
)
def test_values_come_back_from_their_internal_form(
    type_info: TypeInformation, value: Any, internal: int | None
) -> None:
    converted = type_info.to_internal_type(value)
    if internal is not None:
        assert converted == internal
    assert type_info.from_internal_type(converted) == value
    assert type_info.to_internal_type(None) is None
    assert type_info.from_internal_type(None) is None


def test_times_with_a_zone_are_counted_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    assert Types.SQL_TIME().to_internal_type(datetime.time(3, 0, tzinfo=zone)) == 3_600_000_000
    moment = datetime.datetime(1970, 1, 1, 3, tzinfo=zone)
    assert Types.SQL_TIMESTAMP().to_internal_type(moment) == 3_600_000_000


@pytest.mark.parametrize(
    "record",
    [
        Row(1, datetime.date(1970, 1, 2)),
        Row(b=datetime.date(1970, 1, 2), a=1),
        (1, datetime.date(1970, 1, 2)),
        [1, datetime.date(1970, 1, 2)],
        {"b": datetime.date(1970, 1, 2), "a": 1},
        SimpleNamespace(a=1, b=datetime.date(1970, 1, 2)),
    ],
)
def test_a_row_type_takes_rows_tuples_dicts_and_objects(record: Any) -> None:
    row_type = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()])
    assert row_type.to_internal_type(record) == (RowKind.INSERT.value, 1, 1)


def test_a_row_keeps_its_kind_inside() -> None:
    assert Types.ROW([Types.INT()]).to_internal_type(Row.of_kind(RowKind.DELETE, 7)) == (3, 7)


def test_what_is_no_row_or_tuple_is_refused_by_value_and_type() -> None:
    with pytest.raises(ValueError, match=r"'abc'.*RowTypeInfo\(Integer\)"):
        Types.ROW([Types.INT()]).to_internal_type("abc")
    with pytest.raises(ValueError, match=r"5.*TupleTypeInfo\(Integer\)"):
        Types.TUPLE([Types.INT()]).to_internal_type(5)
