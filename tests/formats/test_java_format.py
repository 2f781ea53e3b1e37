from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common import Instant, Row, RowKind, Types
from rekindle.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo
from rekindle.formats.java_format import format_value, java_double, java_float, java_string

TimeType = LocalTimeTypeInfo.TimeType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        ("a", "a"),
        (None, "None"),
        (True, "True"),
        ([1, "b"], "[1, 'b']"),
        ({"a": 1.0}, "{'a': 1.0}"),
        ((1, "x"), "(1, 'x')"),
        (Row(1, "a"), "<Row(1, 'a')>"),
        (Row(a=1), "Row(a=1)"),
    ],
)
def test_records_without_a_type_print_as_python_shows_them(value: Any, text: str) -> None:
    assert format_value(None, value) == text
    assert format_value(Types.PICKLED_BYTE_ARRAY(), value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.002, "0.002"),
        (0.00123, "0.00123"),
        (0.0001, "1.0E-4"),
        (9.999e-4, "9.999E-4"),
        (1.5e-7, "1.5E-7"),
        (123456.789, "123456.789"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e10, "1.0E10"),
        (1e21, "1.0E21"),
        (-1e10, "-1.0E10"),
        (4.9e-324, "4.9E-324"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_print_as_javas(value: float, text: str) -> None:
    assert java_double(value) == text
    assert format_value(Types.DOUBLE(), value) == text


@given(st.floats(allow_nan=False))
def test_a_printed_double_reads_back_as_the_same_number(value: float) -> None:
    assert float(java_double(value).replace("Infinity", "inf")) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (0.1, "0.1"),
        (1e10, "1.0E10"),
        (3.4e38, "3.4E38"),
        (16777216.0, "1.6777216E7"),
        (33333333.0, "3.3333332E7"),
        (1e39, "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_floats_print_with_the_digits_that_32_bits_hold(value: float, text: str) -> None:
    assert java_float(value) == text
    assert format_value(Types.FLOAT(), value) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back_as_the_same_number(value: float) -> None:
    assert struct.pack("f", float(java_float(value))) == struct.pack("f", value)


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.INT(), -5, "-5"),
        (Types.BIG_INT(), 10**30, "1" + "0" * 30),
        (Types.STRING(), "é", "é"),
        (Types.STRING(), None, "null"),
        (Types.CHAR(), "a", "a"),
        (Types.BOOLEAN(), True, "true"),
        (Types.BOOLEAN(), False, "false"),
        (Types.DOUBLE(), 3, "3.0"),
        (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
        (Types.BIG_DEC(), Decimal("1E+10"), "1E+10"),
        (Types.SQL_DATE(), datetime.date(2020, 1, 2), "2020-01-02"),
        (Types.SQL_TIME(), datetime.time(1, 2, 3, 4567), "01:02:03"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05.0"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 2, 3, 4, 5, 123000), "2020-01-02 03:04:05.123"),
        (Types.INSTANT(), Instant(5, 0), "1970-01-01T00:00:05Z"),
        (Types.INSTANT(), Instant(5, 120_000_000), "1970-01-01T00:00:05.120Z"),
        (Types.INSTANT(), Instant(5, 1), "1970-01-01T00:00:05.000000001Z"),
        (Types.INSTANT(), Instant(-1, 999_000_000), "1969-12-31T23:59:59.999Z"),
        (LocalTimeTypeInfo(TimeType.LOCAL_DATE), datetime.date(2020, 1, 2), "2020-01-02"),
        (LocalTimeTypeInfo(TimeType.LOCAL_TIME), datetime.time(1, 2), "01:02"),
        (LocalTimeTypeInfo(TimeType.LOCAL_TIME), datetime.time(1, 2, 3, 4), "01:02:03.000004"),
        (
            LocalTimeTypeInfo(TimeType.LOCAL_DATE_TIME),
            datetime.datetime(2020, 1, 2, 3, 4),
            "2020-01-02T03:04",
        ),
        (Types.TUPLE([Types.STRING(), Types.INT(), Types.BOOLEAN()]), ("hi", 4, True), "(hi,4,true)"),
        (Types.TUPLE([Types.STRING(), Types.DOUBLE()]), (None, 1.0), "(null,1.0)"),
        (Types.LIST(Types.STRING()), ["a", "b", None], "[a, b, null]"),
        (Types.LIST(Types.DOUBLE()), [1.0, 1e10], "[1.0, 1.0E10]"),
        (Types.MAP(Types.STRING(), Types.BOOLEAN()), {"k": True, "j": None}, "{k=true, j=null}"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2], "[1, 2]"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", "[97, 98]"),
        (Types.BASIC_ARRAY(Types.STRING()), ["p", "q"], "[p, q]"),
        (Types.OBJECT_ARRAY(Types.TUPLE([Types.INT()])), [(1,), (2,)], "[(1), (2)]"),
        (ExternalTypeInfo(Types.BOOLEAN()), True, "true"),
        (
            Types.TUPLE([Types.ROW([Types.INT(), Types.STRING()]), Types.PRIMITIVE_ARRAY(Types.INT())]),
            (Row(1, None), [1, 2]),
            "(+I[1, null],[1, 2])",
        ),
    ],
)
def test_typed_values_print_as_java_shows_them(type_info: Any, value: Any, text: str) -> None:
    assert format_value(type_info, value) == text
    assert java_string(type_info, value) == text


ROW_TYPE = Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.BOOLEAN()])


@pytest.mark.parametrize(
    ("value", "printed", "in_java"),
    [
        (Row("a", True), "+I[a,True]", "+I[a, true]"),
        (Row(y=True, x="a"), "+I[a,True]", "+I[a, true]"),
        (("a", None), "+I[a,None]", "+I[a, null]"),
        ({"x": "a", "y": False}, "+I[a,False]", "+I[a, false]"),
        (Row.of_kind(RowKind.DELETE, "a", True), "-D[a,True]", "-D[a, true]"),
        (None, "null", "null"),
    ],
)
def test_rows_print_python_values_without_spaces_and_are_written_as_javas(
    value: Any, printed: str, in_java: str
) -> None:
    assert format_value(ROW_TYPE, value) == printed
    assert format_value(ExternalTypeInfo(ROW_TYPE), value) == printed
    assert java_string(ROW_TYPE, value) == in_java


def test_values_inside_a_printed_row_look_as_a_function_would_get_them() -> None:
    row_type = Types.ROW(
        [
            Types.ROW([Types.INT(), Types.DOUBLE()]),
            Types.LIST(Types.INT()),
            Types.MAP(Types.STRING(), Types.INT()),
            Types.TUPLE([Types.INT(), Types.STRING()]),
            Types.BASIC_ARRAY(Types.STRING()),
        ]
    )
    row = Row(Row(1, 2.0), [1, 2], {"a": 1}, [1, "x"], ("p", "q"))
    assert format_value(row_type, row) == "+I[Row(f0=1, f1=2.0),[1, 2],{'a': 1},(1, 'x'),['p', 'q']]"
    assert java_string(row_type, row) == "+I[+I[1, 2.0], [1, 2], {a=1}, (1,x), [p, q]]"


def test_a_value_that_does_not_fit_its_type_is_shown_by_what_it_is() -> None:
    assert format_value(Types.INT(), "x") == "x"
    assert format_value(Types.INT(), 1.0) == "1.0"
    assert format_value(Types.LIST(Types.INT()), 5) == "5"
    assert format_value(Types.SQL_TIMESTAMP(), "now") == "now"
