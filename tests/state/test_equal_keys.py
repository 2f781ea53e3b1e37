"""Keys that are equal in Python, with equal hashes, are one key: of one key group, and of the same bytes in RocksDB."""

from __future__ import annotations

import datetime
import enum
import itertools
import math
import pathlib
import uuid
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common.types import Row
from rekindle.state.key_hash import key_group_of
from rekindle.state.rocksdb.key_decoding import decode_key
from rekindle.state.rocksdb.key_encoding import encode, encode_key


class Text(str):
    __slots__ = ()


class Blob(bytes):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Several(tuple[Any, ...]):
    __slots__ = ()


class Some(frozenset[Any]):
    pass


class Id(uuid.UUID):
    pass


class Clock(datetime.time):
    pass


class Moment(datetime.datetime):
    pass


class Day(datetime.date):
    pass


class Span(datetime.timedelta):
    pass


class Money(Decimal):
    pass


class One(enum.IntEnum):
    ONE = 1


class Bit(enum.IntFlag):
    ONE = 1


class Letter(enum.StrEnum):
    A = "a"


class OldLetter(str, enum.Enum):  # noqa: UP042 - as it is in older programs
    A = "a"


class Color(enum.Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 - another name of RED


Pair = namedtuple("Pair", "first second")


@dataclass(frozen=True)
class User:
    name: Any
    seen: int = field(default=0, compare=False)


def at(hours: float) -> datetime.timezone:
    return datetime.timezone(datetime.timedelta(hours=hours))


UTC, BERLIN = datetime.UTC, ZoneInfo("Europe/Berlin")
FAMILIES: dict[str, list[Any]] = {
    "one": [
        *(
            1,
            1.0,
            True,
            Decimal("1.00"),
            Decimal(1),
            Money(1),
            Fraction(1),
            1 + 0j,
            One.ONE,
            Bit.ONE,
            Whole(1),
            Real(1),
        ),
        *(np.int64(1), np.uint8(1), np.float32(1), np.bool_(True), np.longdouble(1), np.complex64(1)),
    ],
    "zero": [0, 0.0, -0.0, False, Decimal("-0.0"), 0j, complex(-0.0, -0.0), np.float64(-0.0)],
    "half": [0.5, Decimal("0.50"), Fraction(1, 2), 0.5 + 0j, np.float16(0.5), np.longdouble(0.5)],
    "third": [Fraction(1, 3), Fraction(2, 6)],
    "large": [1 << 70, float(1 << 70), Decimal(1 << 70), Fraction(1 << 70)],
    "infinite": [math.inf, Decimal("Infinity"), np.float32("inf"), complex(math.inf, 0)],
    "imaginary": [1j, complex(-0.0, 1), np.complex128(1j)],
    "text": ["a", Text("a"), np.str_("a"), Letter.A, OldLetter.A],
    "half of a surrogate pair": ["\ud800", Text("\ud800")],
    "bytes": [b"a", Blob(b"a"), np.bytes_(b"a")],
    "nothing": [None, None],
    "empty": [(), Several(())],
    "tuple": [(1, "a"), (1.0, Text("a")), Several((1, "a")), Pair(1, "a"), Pair(True, np.str_("a"))],
    "nested": [((1,), (0.0, b"a")), (Several((True,)), Pair(-0.0, Blob(b"a")))],
    "frozenset": [frozenset({1, "a"}), frozenset({"a", 1.0}), Some({True, Text("a")})],
    "enum": [Color.RED, Color.CRIMSON],
    "uuid": [uuid.UUID(int=5), Id(int=5)],
    "time": [datetime.time(12), datetime.time(12, fold=1), Clock(12), datetime.time(12, tzinfo=BERLIN)],
    "time with a zone": [
        *(datetime.time(12, tzinfo=UTC), datetime.time(14, tzinfo=at(2)), datetime.time(1, 30, tzinfo=at(-10.5))),
        *(Clock(12, tzinfo=UTC), datetime.time(12, tzinfo=UTC, fold=1)),
    ],
    "time of the day before": [datetime.time(1, tzinfo=at(2)), datetime.time(0, 30, tzinfo=at(1.5))],
    "time of the day after": [datetime.time(23, tzinfo=at(-2)), datetime.time(22, 30, tzinfo=at(-2.5))],
    "datetime": [
        *(datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, fold=1), Moment(2020, 1, 1)),
        *(pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01T00:00:00.000000"), np.datetime64("2020-01-01")),
        np.datetime64("2020-01-01", "ns"),
    ],
    "datetime with a zone": [
        *(datetime.datetime(2020, 1, 1, 12, tzinfo=UTC), datetime.datetime(2020, 1, 1, 13, tzinfo=BERLIN)),
        *(pd.Timestamp("2020-01-01T12:00Z"), Moment(2020, 1, 1, 12, tzinfo=UTC)),
    ],
    "datetime that is there twice": [
        datetime.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN),
        datetime.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    ],
    "date": [datetime.date(2020, 1, 1), Day(2020, 1, 1)],
    "timedelta": [
        *(datetime.timedelta(1), Span(1), pd.Timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64(24, "h")),
        np.timedelta64(86_400_000_000_000, "ns"),
    ],
    "nanoseconds": [np.timedelta64(1, "ns"), np.timedelta64(1_000, "ps")],
    "months": [np.timedelta64(1, "Y"), np.timedelta64(12, "M")],
    "row": [Row(a=1, b=2), Row(b=2, a=1.0)],
    "dataclass": [User("ada"), User("ada", seen=7), User(Text("ada"))],
    "range": [range(0), range(1, 1), range(5, 2)],
    "longer range": [range(0, 3, 2), range(0, 4, 2)],
    "path": [pathlib.PurePosixPath("a/b"), pathlib.PosixPath("a//b")],
    "zone": [UTC, at(0), datetime.timezone(datetime.timedelta(0), "Z")],
}


def alike(one: Any, other: Any) -> bool:
    try:
        return bool(one == other) and hash(one) == hash(other)
    except TypeError:  # numpy's, about something that it cannot compare with
        return False


PAIRS = [pair for family in FAMILIES.values() for pair in itertools.combinations(family, 2) if alike(*pair)]


def assert_one_key(one: Any, other: Any) -> None:
    assert key_group_of(one, 32_768) == key_group_of(other, 32_768)
    assert encode_key(one) == encode_key(other)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_equal_keys_is_one_key(family: str) -> None:
    pairs = [pair for pair in itertools.combinations(FAMILIES[family], 2) if alike(*pair)]
    assert pairs, "nothing is compared"
    for one, other in pairs:
        assert_one_key(one, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_can_be_told_from_the_bytes_alone_comes_back(family: str) -> None:
    for key in FAMILIES[family]:
        data, exact = encode(key)
        if exact:
            assert type(decode_key(data)) is type(key)
            assert alike(decode_key(data), key)


@st.composite
def equal_keys(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw two equal keys, made of equal ones."""
    one, other = draw(st.sampled_from(PAIRS))
    for _ in range(draw(st.integers(0, 3))):
        more, alike_to_more = draw(st.sampled_from(PAIRS))
        match draw(st.integers(0, 4)):
            case 0:
                one, other = (one, more), Pair(other, alike_to_more)
            case 1:
                one, other = Several((more, one)), (alike_to_more, other)
            case 2:
                one, other = frozenset({one, more}), Some({alike_to_more, other})
            case 3:
                one, other = User(one), User(other, seen=1)
            case 4:
                one, other = Row(a=one, b=more), Row(b=alike_to_more, a=other)
    return one, other


@given(equal_keys())
def test_what_is_made_of_equal_keys_is_one_key(keys: tuple[Any, Any]) -> None:
    if alike(*keys):
        assert_one_key(*keys)


OFFSETS = st.timedeltas(datetime.timedelta(hours=-23, minutes=-59), datetime.timedelta(hours=23, minutes=59))


@given(st.times(), OFFSETS, OFFSETS)
def test_times_of_day_in_two_zones(time: datetime.time, first: datetime.timedelta, second: datetime.timedelta) -> None:
    first, second = (datetime.timedelta(seconds=round(o.total_seconds())) for o in (first, second))
    one = time.replace(tzinfo=datetime.timezone(first))
    moved = datetime.datetime.combine(datetime.date(2020, 1, 2), time) + second - first
    if moved.date() != datetime.date(2020, 1, 2):
        return
    other = moved.time().replace(tzinfo=datetime.timezone(second))
    assert alike(one, other)
    assert_one_key(one, other)
    assert alike(decode_key(encode_key(one)), one)


@given(st.times(timezones=st.just(UTC)), st.times(timezones=st.just(UTC)))
def test_other_times_of_day_are_other_keys(one: datetime.time, other: datetime.time) -> None:
    assert (encode_key(one) == encode_key(other)) == (one == other)


@given(st.datetimes(timezones=st.timezones()), st.timezones())
def test_datetimes_in_two_zones(moment: datetime.datetime, zone: Any) -> None:
    try:
        other = moment.astimezone(zone)
    except OverflowError:
        return
    if alike(moment, other):
        assert_one_key(moment, other)
