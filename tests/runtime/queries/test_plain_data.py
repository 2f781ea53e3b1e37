"""Plain data comes back as it went in, and nothing else goes."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common import Row
from rekindle.exceptions import SerializationError
from rekindle.runtime.queries.plain_data import PLAIN

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.sets(hashable, max_size=3)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_data_comes_back_as_it_went_in(value: Any) -> None:
    back = PLAIN.from_bytes(PLAIN.to_bytes(value))
    assert back == value
    assert type(back) is type(value)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_plain_data_are_refused(data: bytes) -> None:
    try:
        value = PLAIN.from_bytes(data)
    except SerializationError:
        return
    PLAIN.to_bytes(value)


def test_rows_keep_their_names() -> None:
    back = PLAIN.from_bytes(PLAIN.to_bytes(Row(a=1, b=("x", 2))))
    assert back == Row(a=1, b=("x", 2))
    assert PLAIN.from_bytes(PLAIN.to_bytes([Row(1, 2)])) == [Row(1, 2)]


class Custom:
    pass


class Text(str):
    pass


@pytest.mark.parametrize("value", [Custom(), Text("x"), [Custom()], {1: Custom()}, lambda: None, "\ud800"])
def test_what_only_pickle_could_carry_is_refused(value: Any) -> None:
    with pytest.raises(SerializationError):
        PLAIN.to_bytes(value)


def test_deep_nesting_is_refused_on_both_sides() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SerializationError):
        PLAIN.to_bytes(deep)
    with pytest.raises(SerializationError):
        PLAIN.from_bytes(b"\x91" * 100_000 + b"\x90")


def test_examples_of_each_type() -> None:
    examples = [decimal.Decimal("1.50"), uuid.uuid4(), datetime.timedelta(days=-1, microseconds=3), 1 << 80, -(1 << 80)]
    assert PLAIN.all_from_bytes(PLAIN.all_to_bytes(examples)) == examples
