"""Records as JSON. That Spark reads it back is in tests/integration/test_file_sink_on_spark.py."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest

from rekindle.common import Instant, Row, Types
from rekindle.formats.json_format import json_text
from rekindle.formats.line_format import java_line, json_line
from rekindle.types.class_typeinfo import PojoTypeInfo


@dataclass
class Point:
    x: float
    near: list[Point]


class Struct(msgspec.Struct):
    a: int


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (Size.SMALL, 1),
        (Colour.RED, "red"),
        (1.5, 1.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("NaN"), "NaN"),
        ('line\nbreak \u2028 "quoted"', 'line\nbreak \u2028 "quoted"'),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (date(5, 1, 2), "0005-01-02"),
        (time(1, 2, 3, 4), "01:02:03.000004"),
        (datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02T03:04:05.000006"),
        (datetime(2020, 1, 2, tzinfo=UTC), "2020-01-02T00:00:00+00:00"),
        (datetime(2020, 7, 2, tzinfo=ZoneInfo("Europe/Berlin")), "2020-07-02T00:00:00+02:00"),
        (datetime(1850, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), "1849-12-31T23:06:32+00:00"),
        (timedelta(days=1, hours=2, microseconds=3), "INTERVAL '1 02:00:00.000003' DAY TO SECOND"),
        (timedelta(microseconds=-1), "INTERVAL '-0 00:00:00.000001' DAY TO SECOND"),
        (Instant.of_epoch_milli(1500), "1970-01-01T00:00:01.500Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, ("a", None)), [1, ["a", None]]),
        ({3}, [3]),
        (frozenset({b"a"}), ["YQ=="]),
        (Row(a=Row(b=[Row(c=1)])), {"a": {"b": [{"c": 1}]}}),
        (Row(1, Row(2)), {"f0": 1, "f1": {"f0": 2}}),
        (Pair(1, Pair(2, 3)), {"left": 1, "right": {"left": 2, "right": 3}}),
        (Point(1.5, [Point(2.5, [])]), {"x": 1.5, "near": [{"x": 2.5, "near": []}]}),
        (Struct(1), {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        ({1: "a"}, {"1": "a"}),
        ({False: 1, None: 2, 1.5: 3, b"a": 4}, {"false": 1, "null": 2, "1.5": 3, "YQ==": 4}),
        ({(1, "a"): 1, date(2020, 1, 1): 2}, {'[1,"a"]': 1, "2020-01-01": 2}),
        (np.float32(1.5), 1.5),
        (np.int64(3), 3),
        (np.array([1.5, np.nan]), [1.5, "NaN"]),
        (np.datetime64("2020-01-01T00:00:00.000001"), "2020-01-01T00:00:00.000001"),
        (1j, "1j"),
    ],
)
def test_a_value_in_a_record(value: Any, shown: Any) -> None:
    text = json_text(Row(value=value))
    assert json.loads(text) == {"value": shown}
    assert "\n" not in text


def test_decimals_keep_their_digits() -> None:
    assert json_text(Row(a=Decimal("1.10"), b=Decimal("1E+3"))) == '{"a":1.10,"b":1E+3}'


def test_fields_without_names_are_numbered_in_a_record_that_is_a_tuple() -> None:
    assert json_text(("a", (1, 2))) == '{"f0":"a","f1":[1,2]}'


@pytest.mark.parametrize(
    ("type_info", "value", "line", "in_java"),
    [
        (None, "text", "text", "text"),
        (None, [1, "a"], "[1, 'a']", "[1, 'a']"),
        (None, None, "None", "None"),
        (None, ("a", 1), '{"f0":"a","f1":1}', '{"f0":"a","f1":1}'),
        (Types.PICKLED_BYTE_ARRAY(), {"a": 1}, '{"a":1}', '{"a":1}'),
        (Types.BOOLEAN(), True, "true", "true"),
        (Types.INSTANT(), Instant.of_epoch_milli(1500), "1970-01-01T00:00:01.500Z", "1970-01-01T00:00:01.500Z"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), (1,), '{"a":1}', "+I[1]"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), None, "null", "null"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", 1), '{"f0":"a","f1":1}', "(a,1)"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, '{"a":1}', "{a=1}"),
        (PojoTypeInfo(Struct), Struct(1), '{"a":1}', '{"a":1}'),
        (Types.LIST(Types.STRING()), ["a", "b"], "[a, b]", "[a, b]"),
    ],
)
def test_the_line_of_a_record(type_info: Any, value: Any, line: str, in_java: str) -> None:
    assert json_line(type_info, value) == line
    assert java_line(type_info, value) == in_java
