"""Keys as bytes: what is equal in Python has equal bytes, what is not has not, and all of it comes back."""

import dataclasses
import datetime
import enum
import pickle
import subprocess
import sys
import uuid
import zoneinfo
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common.types import Row, RowKind
from rekindle.exceptions import StateAccessError, StateRestoreError
from rekindle.state.keyed_backend import NO_KEY
from rekindle.state.rocksdb import key_decoding
from rekindle.state.rocksdb.key_decoding import decode_at, decode_key, sized_at
from rekindle.state.rocksdb.key_encoding import encode, encode_key, sized


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    ANN = "ann"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Device:
    site: str
    number: float
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    a: int
    b: tuple


@dataclasses.dataclass
class Unhashable:
    a: int


class Plain:
    def __init__(self, a):
        self.a = a
        self.b = a

    def __eq__(self, other):
        return type(other) is Plain and (self.a, self.b) == (other.a, other.b)

    def __hash__(self):
        return hash(self.a)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.5])
    | st.text()
    | st.sampled_from(["", "a", "\ud800"])
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.complex_numbers(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([*Color, *Level, *Name, *Rights])
)
keys = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.lists(inner, max_size=3).map(lambda values: Row(*values))
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda fields: Row(**fields))
        | st.builds(Device, st.text(max_size=2), inner)
        | st.builds(Slotted, inner, inner)
        | st.builds(Plain, st.text(max_size=2))
    ),
    max_leaves=6,
)


@given(keys, keys)
def test_keys_are_equal_if_and_only_if_their_bytes_are(one, other):
    assert (one == other) == (encode_key(one) == encode_key(other))


@given(keys)
def test_a_key_comes_back_equal_with_an_equal_hash(key):
    decoded = decode_key(encode_key(key))
    assert decoded == key
    assert hash(decoded) == hash(key)


@given(keys)
def test_an_exact_encoding_gives_back_the_same_type(key):
    data, exact = encode(key)
    if exact:
        assert type(decode_key(data)) is type(key)
        assert repr(decode_key(data)) == repr(key) or type(key) in (Plain, frozenset, tuple, Row, Device, Slotted)


@given(st.lists(keys, max_size=4))
def test_encodings_stand_one_after_the_other(several):
    data = b"".join(map(encode_key, several))
    at = 0
    for key in several:
        decoded, at = decode_at(data, at)
        assert decoded == key
    assert at == len(data)


@given(keys, keys)
def test_no_encoding_is_the_beginning_of_another(one, other):
    if one != other:
        assert not encode_key(other).startswith(encode_key(one))


@pytest.mark.parametrize(
    "key",
    [True, 1.0, 1 + 0j, Decimal(1), Decimal("1.00"), Fraction(1), np.int8(1), np.float64(1), np.bool_(True), Level.LOW],
)
def test_numbers_equal_to_one_are_one_key_also_inside_others(key):
    assert encode(key) == (encode_key(1), False)
    assert encode((("a", key),)) == (encode_key((("a", 1),)), False)
    assert encode_key(frozenset([key])) == encode_key(frozenset([1]))
    assert encode_key(Device("s", key)) == encode_key(Device("s", 1))


@pytest.mark.parametrize(
    ("key", "equal"),
    [
        (Name.ANN, "ann"),
        (np.float32(0.5), 0.5),
        (np.longdouble(2), 2),
        (np.longdouble(0.25), 0.25),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.str_("ann"), "ann"),
        (np.bytes_(b"ann"), b"ann"),
        (Point(1, 2), (1, 2)),
        (pd.Timestamp(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (pd.Timedelta(seconds=1), datetime.timedelta(seconds=1)),
        (datetime.datetime(2024, 7, 1, 14, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")),
         datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("Infinity"), float("inf")),
        (-0.0, 0),
        (1e300, int(1e300)),
        (Row(b=1, a=2), Row(a=2, b=1)),
    ],
)  # fmt: skip
def test_keys_of_different_types_that_are_equal_are_one_key(key, equal):
    assert key == equal
    assert encode(key) == (encode_key(equal), False)


@pytest.mark.parametrize(
    "key",
    [None, 1, -(1 << 80), 0.5, float("inf"), "a", b"a", (), (1, ("a", None)), frozenset(["a"]), Color.RED, 1j,
     Row("x", 1), Row(a=1, b=2), Row.of_kind(RowKind.DELETE, 1), Slotted(1, ("x",)), datetime.date(2024, 1, 1),
     uuid.UUID(int=7),
     datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.timedelta.max,
     Rights.READ | Rights.WRITE, Plain("x"), "x" * 300, tuple(range(300))],
    ids=lambda key: type(key).__name__,
)  # fmt: skip
def test_common_keys_come_back_as_they_were(key):
    data, exact = encode(key)
    decoded = decode_key(data)
    assert exact
    assert decoded == key
    assert type(decoded) is type(key)


def test_rows_of_different_kind_or_names_are_different_keys():
    rows = [Row(1, 2), Row(a=1, b=2), Row(a=2, b=1), Row.of_kind(RowKind.DELETE, 1, 2), (1, 2)]
    assert len(set(map(encode_key, rows))) == len(rows)


def test_a_field_that_does_not_count_in_comparisons_makes_a_dataclass_inexact():
    data, exact = encode(Device("s", 1, "note"))
    assert not exact
    assert data == encode_key(Device("s", 1))


def test_a_time_that_its_zone_has_twice_is_no_key_of_another_zone():
    paris = zoneinfo.ZoneInfo("Europe/Paris")
    first, second = (datetime.datetime(2024, 10, 27, 2, 30, tzinfo=paris, fold=fold) for fold in (0, 1))
    assert first == second
    assert encode_key(first) == encode_key(second)
    assert first != first.astimezone(datetime.UTC)
    assert encode_key(first) != encode_key(first.astimezone(datetime.UTC))


def test_every_nan_has_the_same_bytes():
    assert encode_key(float("nan")) == encode_key(-float("nan")) == encode_key(np.float32("nan"))


def test_an_object_has_the_same_bytes_whoever_shares_its_parts():
    shared = "".join(["a", "b"])
    apart = Plain(shared)
    apart.b = "".join(["a", "b"])
    assert encode_key(Plain(shared)) == encode_key(apart)


def test_no_key_and_unhashable_keys_are_refused():
    with pytest.raises(StateAccessError):
        encode_key(NO_KEY)
    for key in ([1], ("a", [1]), Unhashable(1), Row([1])):
        with pytest.raises(TypeError, match="unhashable"):
            encode_key(key)


def test_a_class_that_cannot_be_found_again_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Local:
        a: int

    with pytest.raises(pickle.PicklingError, match="top level"):
        encode_key(Local(1))


def test_a_changed_or_missing_class_is_refused_when_decoding(monkeypatch):
    data = encode_key(Slotted(1, ()))
    monkeypatch.setattr(key_decoding, "fields_of_key", lambda kind: ("a", "b", "c"))
    with pytest.raises(StateRestoreError, match="'Slotted' with 2 fields, which now has 3"):
        decode_key(data)
    with pytest.raises(StateRestoreError, match="'Taste' of module"):
        decode_key(encode_key(Color.RED).replace(b"Color", b"Taste"))


def test_bytes_are_the_same_in_every_process():
    script = (
        "from rekindle.state.rocksdb.key_encoding import *; print(encode_key((frozenset('abcdef'), 'a', 1.5)).hex())"
    )
    outputs = {subprocess.check_output([sys.executable, "-c", script], text=True) for _ in range(3)}
    assert outputs == {encode_key((frozenset("abcdef"), "a", 1.5)).hex() + "\n"}


@given(st.binary(max_size=300) | st.just(b"x" * 254) | st.just(b"x" * 255) | st.just(b"x" * 70000))
def test_sized_bytes_tell_their_length(data):
    start, end = sized_at(b"??" + sized(data) + b"??", 2)
    assert (b"??" + sized(data) + b"??")[start:end] == data
