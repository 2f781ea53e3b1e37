"""The hash of keys: the same for equal keys, in every process and for ever, one key at a time or a column at once."""

from __future__ import annotations

import datetime
import enum
import os
import pickle
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row as SparkRow

from rekindle.common.types import Row
from rekindle.state.key_hash import key_group_of, key_groups_of_longs, key_hash

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)


class Text(str):
    """A string with a class of its own."""

    __slots__ = ()


class Blob(bytes):
    """Bytes with a class of their own."""


class Point(NamedTuple):
    x: int
    y: int


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1  # noqa: PIE796 - another name of RED


class Size(enum.IntEnum):
    SMALL = 1


class Fruit(enum.StrEnum):
    APPLE = "apple"


class Ratio(float, enum.Enum):
    HALF = 0.5


class Pair(tuple, enum.Enum):  # type: ignore[type-arg]
    ONE_TWO = (1, 2)


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class User:
    name: str
    age: int
    seen: int = field(default=0, compare=False)


class Plain:
    """A key class as people write them by hand."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(frozenset(self.__dict__))


UTC = datetime.UTC
BERLIN = datetime.timezone(datetime.timedelta(hours=1))

EQUAL: list[tuple[Any, ...]] = [
    (1, 1.0, True, Decimal(1), Decimal("1.00"), Fraction(1), 1 + 0j, Size.SMALL, np.bool_(True)),
    (1, *(t(1) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.float32, np.float64))),
    (np.longdouble(1), np.complex64(1), np.complex128(1), 1),
    (0, 0.0, -0.0, False, Decimal(0), Decimal("-0"), Decimal("0E+3")),
    (0.5, Decimal("0.5"), Decimal("0.500"), Fraction(1, 2), Ratio.HALF, np.float32(0.5), np.longdouble(0.5)),
    (Decimal("0.1"), Decimal("0.10"), Fraction(1, 10)),
    (Decimal("1E+3"), Decimal(1000), 1000, 1e3),
    (2**63, float(2**63), Decimal(2**63), np.uint64(2**63)),
    (-(2**63), float(-(2**63)), np.int64(-(2**63))),
    (10**30, Decimal(10) ** 30),
    (1 << 100, float(1 << 100)),
    (float("inf"), Decimal("Infinity"), np.float64("inf")),
    (float("-inf"), Decimal("-Infinity")),
    ("apple", Text("apple"), Fruit.APPLE, np.str_("apple")),
    (b"ab", Blob(b"ab"), np.bytes_(b"ab")),
    ((1, 2), (1.0, Decimal(2)), Point(1, 2), Pair.ONE_TWO, SparkRow(a=1, b=2)),
    ((1, ("a", None)), (True, (Text("a"), None))),
    (Row(1, 2), Row(1.0, True + 1)),
    (Row(a=1, b=2), Row(b=2, a=1)),
    (Color.RED, Color.CRIMSON, Color(1)),
    (Permission.READ | Permission.WRITE, Permission.WRITE | Permission.READ),
    (User("ada", 36), User("ada", 36.0), User("ada", 36, seen=99)),  # type: ignore[arg-type]
    (frozenset({1, 2, 3}), frozenset({3.0, 2, True})),
    (frozenset({"a", "b"}), frozenset(["b", "a", "a"])),
    (datetime.datetime(2024, 1, 1, 12, tzinfo=UTC), datetime.datetime(2024, 1, 1, 13, tzinfo=BERLIN)),
    (datetime.datetime(2024, 1, 1, 12), pd.Timestamp("2024-01-01 12:00")),
    (datetime.time(12, tzinfo=UTC), datetime.time(13, tzinfo=BERLIN)),
    (datetime.timedelta(days=1), datetime.timedelta(hours=24), pd.Timedelta(days=1)),
    (Plain(a="x", b="x"), Plain(b="x", a="".join(["x"]))),
    (Plain(tags={"a", "b"}), Plain(tags={"b", "a"})),
    (None, None),
]


@pytest.mark.parametrize("keys", EQUAL, ids=lambda keys: repr(keys[0]))
def test_keys_that_are_equal_in_python_have_equal_hashes(keys: tuple[Any, ...]) -> None:
    assert all(key == keys[0] for key in keys), "the case itself is wrong"
    assert len({key_hash(key) for key in keys}) == 1, {repr(key): key_hash(key) for key in keys}


NUMBERS = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.integers(-(1 << 31), (1 << 31) - 1).map(np.int32),
    st.floats(width=32, allow_nan=False).map(np.float32),
)


@given(NUMBERS, st.sampled_from([int, float, Decimal, Fraction, np.int64, np.float64, complex]))
def test_a_number_converted_without_loss_keeps_its_hash(number: Any, convert: Callable[[Any], Any]) -> None:
    try:
        with np.errstate(all="ignore"):
            converted = convert(number)
        same = bool(converted == number) and hash(converted) == hash(number)
    except (OverflowError, ValueError, TypeError):
        return
    if same:
        assert key_hash(converted) == key_hash(number)


KEYS: st.SearchStrategy[Hashable] = st.recursive(
    NUMBERS | st.none() | st.text() | st.binary() | st.dates() | st.datetimes() | st.uuids() | st.timedeltas(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4),
    max_leaves=6,
)


@given(KEYS)
def test_a_key_that_was_pickled_and_read_back_keeps_its_hash(key: Hashable) -> None:
    assert key_hash(pickle.loads(pickle.dumps(key, 5))) == key_hash(key)


@given(KEYS)
def test_a_hash_is_a_signed_64_bit_number(key: Hashable) -> None:
    assert -(1 << 63) <= key_hash(key) < 1 << 63


PINNED: list[tuple[Any, int]] = [
    (0, -5252525462095825812),
    (1, -7001672635703045582),  # Spark: SELECT xxhash64(1L)
    (-1, 3858142552250413010),
    (42, -6876166290308861218),
    (2**63 - 1, -3246596055638297850),
    (-(2**63), -8619748838626508300),
    (2**63, -1391946548514875106),
    (-(2**63) - 1, 1887342250296721737),
    (10**30, -163671803858722657),
    (0.5, 3031145945194818975),
    (-2.5, -2274979855732426304),
    (float("inf"), 5810986238603807492),
    ("", -7444071767201028348),
    ("a", -8582455328737087284),
    ("Grüße", -2071892481765773306),
    ("a" * 100, -5307276994506690727),
    (b"abc", 1423657621850124518),
    (None, 42),
    ((), 42),
    (("a", 1), -1010403264180844141),
    ((1, "a"), -8527884376001292090),
    (("x", None, 2.5), -7494186223960665841),
    (datetime.date(2024, 1, 2), 8241302720372140279),
    (uuid.UUID(int=7), 5282746635711716688),
]


@pytest.mark.parametrize(("key", "pinned"), PINNED, ids=lambda value: repr(value)[:30])
def test_the_hash_never_changes_because_checkpoints_are_sorted_by_it(key: Any, pinned: int) -> None:
    assert key_hash(key) == pinned


@given(st.text())
def test_a_string_hashes_as_xxh64_of_its_utf8_with_seed_42(key: str) -> None:
    unsigned = xxhash.xxh64_intdigest(key.encode("utf-8", "surrogatepass"), 42)
    assert key_hash(key) % (1 << 64) == unsigned


@given(LONGS)
def test_an_integer_hashes_as_xxh64_of_its_eight_bytes_with_seed_42(key: int) -> None:
    assert key_hash(key) % (1 << 64) == xxhash.xxh64_intdigest(key.to_bytes(8, "little", signed=True), 42)


@given(LONGS, LONGS)
def test_a_tuple_hashes_each_element_with_the_hash_so_far_as_seed(first: int, second: int) -> None:
    seed = xxhash.xxh64_intdigest(first.to_bytes(8, "little", signed=True), 42)
    expected = xxhash.xxh64_intdigest(second.to_bytes(8, "little", signed=True), seed)
    assert key_hash((first, second)) % (1 << 64) == expected


def test_a_lone_surrogate_is_a_key_like_any_other() -> None:
    assert key_hash("\ud800") != key_hash("\ud801")


@given(st.lists(LONGS, max_size=50), st.integers(1, 32_768))
def test_the_numpy_twin_agrees_on_every_integer(keys: list[int], max_parallelism: int) -> None:
    column = key_groups_of_longs(np.array(keys, dtype=np.int64), max_parallelism)
    assert column.tolist() == [key_group_of(key, max_parallelism) for key in keys]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint32])
def test_the_numpy_twin_agrees_on_columns_of_smaller_integers(dtype: type) -> None:
    limits = np.iinfo(dtype)
    column = np.array([limits.min, 0, 1, limits.max], dtype=dtype)
    assert key_groups_of_longs(column, 128).tolist() == [key_group_of(int(key), 128) for key in column]


def test_the_numpy_twin_takes_a_column_that_is_not_contiguous() -> None:
    column = np.arange(100, dtype=np.int64)[::3]
    assert key_groups_of_longs(column, 128).tolist() == [key_group_of(int(key), 128) for key in column]


@given(KEYS, st.integers(1, 32_768))
def test_a_key_group_is_between_zero_and_max_parallelism(key: Hashable, max_parallelism: int) -> None:
    assert 0 <= key_group_of(key, max_parallelism) < max_parallelism


def test_keys_spread_over_all_key_groups() -> None:
    assert {key_group_of(f"user-{i}", 128) for i in range(5_000)} == set(range(128))


def test_a_decimal_keeps_its_hash_whatever_the_precision_of_the_context() -> None:
    key = Decimal("0.1234567890123456789012345678901234567890")
    expected = key_hash(key)
    with localcontext() as context:
        context.prec = 3
        assert key_hash(key) == expected


def test_naive_and_aware_datetimes_hash_alike_in_every_time_zone_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [datetime.datetime(2024, 7, 1, 12), datetime.datetime(2024, 7, 1, 12, tzinfo=UTC)]
    hashes = []
    for zone in ("UTC", "Asia/Tokyo"):
        with monkeypatch.context() as patch:
            patch.setenv("TZ", zone)
            time.tzset()
            hashes.append([key_hash(key) for key in keys])
    time.tzset()
    assert hashes[0] == hashes[1]


def test_datetimes_one_microsecond_apart_have_different_hashes() -> None:
    now = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)
    assert key_hash(now) != key_hash(now + datetime.timedelta(microseconds=1))


def test_enum_members_of_the_same_value_in_different_enums_are_different_keys() -> None:
    other = enum.Enum("Other", {"RED": 1})
    assert key_hash(Color.RED) != key_hash(Color.GREEN)
    assert key_hash(Color.RED) != key_hash(other.RED)  # type: ignore[attr-defined]


def test_a_class_can_be_a_key() -> None:
    assert key_hash(User) == key_hash(User) != key_hash(Plain)


IN_ANOTHER_PROCESS = """
import datetime, sys
sys.path.insert(0, {directory!r})
from test_key_hash import Color, Plain, User
from rekindle.state.key_hash import key_hash
keys = ["a", b"a", 1, (1, "a"), Color.RED, User("ada", 36), Plain(tags={{"a", "b", "c"}}, n={{"k": "v", "l": "w"}}),
        frozenset({{"a", "b", "c"}})]
print([key_hash(key) for key in keys])
"""


def test_the_hash_is_the_same_in_processes_with_different_hash_seeds() -> None:
    code = IN_ANOTHER_PROCESS.format(directory=os.path.dirname(__file__))
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
