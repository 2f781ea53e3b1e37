"""Strings, numbers, booleans and characters: what they take besides values of their own, and what they refuse."""

from __future__ import annotations

from decimal import Decimal, localcontext
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.basic_serializers import FloatSerializer, StringSerializer
from rekindle.serialization.scalars.integer_serializers import BigIntSerializer, IntSerializer, LongSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.type_serializer import TypeSerializer
from support.serializer_catalogue import same


class Level(IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


def _through(type_name: str, value: Any) -> Any:
    """Send a value through bytes alone, in a list, as part of a tuple, and by conversion: all ways agree."""
    type_info = getattr(Types, type_name)()
    serializer = serializer_of(type_info)
    result = serializer.from_bytes(serializer.to_bytes(value))
    in_tuple = serializer_of(Types.TUPLE([type_info]))
    in_list = serializer_of(Types.LIST(type_info))
    others = [
        serializer.all_from_bytes(serializer.all_to_bytes([value] * 3))[2],
        in_tuple.from_bytes(in_tuple.to_bytes((value,)))[0],
        in_tuple.all_from_bytes(in_tuple.all_to_bytes([(value,)] * 2))[1][0],
        in_list.from_bytes(in_list.to_bytes([value, value]))[1],
    ]
    assert all(same(other, result) for other in others), (result, others)
    return result


@pytest.mark.parametrize(
    ("type_name", "given", "kept"),
    [
        ("SHORT", 43878, -21658),
        ("INT", 9147483648, 557549056),
        ("BYTE", 128, -128),
        ("BYTE", -129, 127),
        ("LONG", 2**63, -(2**63)),
        ("LONG", 2**64 + 5, 5),
        ("LONG", -(2**70) - 1, -1),
    ],
)
def test_integers_wrap_to_their_width(type_name: str, given: int, kept: int) -> None:
    assert _through(type_name, given) == kept


@given(st.integers(-(2**200), 2**200))
def test_wrapping_keeps_the_lower_bits(number: int) -> None:
    serializer = LongSerializer()
    kept = serializer.from_bytes(serializer.to_bytes(number))
    assert -(2**63) <= kept < 2**63
    assert (kept - number) % 2**64 == 0


@pytest.mark.parametrize("type_name", ["BYTE", "SHORT", "INT", "LONG", "BIG_INT"])
@pytest.mark.parametrize(
    ("given", "kept"),
    [(True, 1), (Level.LOW, 1), (np.int32(3), 3), (np.uint8(7), 7), (1.9, 1), (-1.9, -1), (Decimal("2.5"), 2)],
)
def test_whole_numbers_take_other_numbers_as_pyflink_does(type_name: str, given: Any, kept: int) -> None:
    assert same(_through(type_name, given), kept)


@pytest.mark.parametrize("type_name", ["BYTE", "SHORT", "INT", "LONG", "BIG_INT"])
@pytest.mark.parametrize("given", ["1", b"1", [], {}, 1e300, float("nan"), float("inf"), Decimal("NaN"), object])
def test_whole_numbers_refuse_what_is_no_number_or_none_in_range(type_name: str, given: Any) -> None:
    with pytest.raises(SerializationError, match=f"is not of type (TUPLE.)?{type_name}"):
        _through(type_name, given)


@pytest.mark.parametrize(("type_name", "given"), [("INT", 3e9), ("BYTE", 200.5), ("SHORT", Decimal(40_000))])
def test_fractions_out_of_range_are_refused_and_do_not_wrap(type_name: str, given: Any) -> None:
    with pytest.raises(SerializationError, match="is not between"):
        _through(type_name, given)


@pytest.mark.parametrize("type_name", ["BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "CHAR"])
def test_numbers_booleans_and_characters_are_never_none(type_name: str) -> None:
    serializer = serializer_of(getattr(Types, type_name)())
    assert not serializer.takes_none
    for refused in (lambda: serializer.to_bytes(None), lambda: serializer.all_to_bytes([None])):
        with pytest.raises(SerializationError, match=rf"None \(NoneType\) is not of type {type_name}"):
            refused()


@pytest.mark.parametrize("type_name", ["STRING", "BIG_INT", "BIG_DEC"])
def test_strings_and_big_numbers_may_be_none(type_name: str) -> None:
    assert serializer_of(getattr(Types, type_name)()).takes_none
    assert _through(type_name, None) is None


def test_the_error_names_the_first_value_that_is_refused() -> None:
    serializer = LongSerializer()
    with pytest.raises(SerializationError, match=r"'x' \(str\) is not of type LONG"):
        serializer.all_to_bytes([*range(100), "x", None])
    with pytest.raises(SerializationError, match=r"'x' \(str\) is not of type LONG"):
        serializer_of(Types.LIST(Types.LONG())).to_bytes([1, "x"])


def test_big_integers_are_as_small_as_they_can_be() -> None:
    serializer = BigIntSerializer()
    assert serializer.to_bytes(5) == LongSerializer().to_bytes(5)
    for number in (2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 255**20, -(256**9)):
        assert serializer.from_bytes(serializer.to_bytes(number)) == number
    assert len(serializer.to_bytes(2**64)) < 12


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (0.1, 0.10000000149011612),
        (9147483648, 9147484160.0),
        (1e300, float("inf")),
        (-1e300, float("-inf")),
        (Decimal("1.10"), 1.100000023841858),
        (True, 1.0),
        (np.float64(2.5), 2.5),
        (Fraction(1, 2), 0.5),
    ],
)
def test_float_rounds_to_32_bits(given: Any, kept: float) -> None:
    assert same(_through("FLOAT", given), kept)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(1, 1.0), (True, 1.0), (2**70, 2.0**70), (Decimal("0.5"), 0.5), (np.float32(0.5), 0.5), (Fraction(1, 2), 0.5)],
)
def test_double_makes_floats_of_other_numbers(given: Any, kept: float) -> None:
    assert same(_through("DOUBLE", given), kept)


@pytest.mark.parametrize("type_name", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize("given", ["1.5", b"1.5", 10**400, [], 1j])
def test_floating_point_numbers_refuse_what_is_no_number(type_name: str, given: Any) -> None:
    with pytest.raises(SerializationError, match=type_name):
        _through(type_name, given)


def test_rounding_many_is_rounding_each() -> None:
    serializer = FloatSerializer()
    numbers = [0.1, 1e300, -0.0, 7, 3.4028235677973366e38]
    assert same(serializer.converted(numbers), [serializer.pack(number) for number in numbers])


@pytest.mark.parametrize(
    ("given", "kept"), [(1, True), (0, False), (255, True), (np.bool_(True), True), (0.9, False), (2.5, True)]
)
def test_booleans_take_small_numbers_as_pyflink_does(given: Any, kept: bool) -> None:
    assert same(_through("BOOLEAN", given), kept)


@pytest.mark.parametrize("given", [256, -1, "true", "", None, [1]])
def test_booleans_refuse_everything_else(given: Any) -> None:
    with pytest.raises(SerializationError, match="BOOLEAN"):
        _through("BOOLEAN", given)


@pytest.mark.parametrize("type_name", ["STRING", "CHAR"])
def test_strings_of_another_class_become_strings(type_name: str) -> None:
    for text in (Text("a"), np.str_("a")):
        serializer = serializer_of(getattr(Types, type_name)())
        assert same(serializer.from_bytes(serializer.to_bytes(text)), "a")
        assert same(serializer.all_from_bytes(serializer.all_to_bytes([text])), ["a"])
    in_map = serializer_of(Types.MAP(Types.STRING(), Types.STRING()))
    assert same(in_map.from_bytes(in_map.to_bytes({Text("k"): Text("v")})), {"k": "v"})


@pytest.mark.parametrize("given", [1, b"a", 1.5, ["a"], "\ud800"])
def test_strings_refuse_what_is_no_text(given: Any) -> None:
    for serializer in (StringSerializer(), serializer_of(Types.TUPLE([Types.STRING()]))):
        element = given if isinstance(serializer, StringSerializer) else (given,)
        for refused in (serializer.to_bytes, lambda value, by=serializer: by.all_to_bytes([value])):
            with pytest.raises(SerializationError, match="STRING"):
                refused(element)


@pytest.mark.parametrize("given", ["", "ab", "e\u0301", 97])
def test_a_char_is_one_character(given: Any) -> None:
    with pytest.raises(SerializationError, match="CHAR"):
        _through("CHAR", given)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(1, Decimal(1)), (1.5, Decimal("1.5")), ("1.10", Decimal("1.10")), (np.float64(0.1), Decimal("0.1"))],
)
def test_decimals_take_what_reads_as_a_number(given: Any, kept: Decimal) -> None:
    assert same(_through("BIG_DEC", given), kept)


def test_decimals_keep_every_digit_whatever_the_context() -> None:
    number = Decimal("0." + "123456789" * 20)
    with localcontext() as context:
        context.prec = 3
        assert same(_through("BIG_DEC", number), number)
    assert same(_through("BIG_DEC", 10**5000), Decimal(10**5000))
    assert same(_through("BIG_DEC", Decimal("-0.00")), Decimal("-0.00"))


@pytest.mark.parametrize("given", [True, b"1", "one", [], "1 2"])
def test_decimals_refuse_what_reads_as_none(given: Any) -> None:
    with pytest.raises(SerializationError, match="BIG_DEC"):
        _through("BIG_DEC", given)


def test_a_changed_type_is_named_as_users_know_it() -> None:
    result = (
        StringSerializer()
        .snapshot_configuration()
        .resolve_schema_compatibility(LongSerializer().snapshot_configuration())
    )
    assert result.is_incompatible()
    assert result.reasons == ("the type was LONG and is STRING now",)


@pytest.mark.parametrize(
    ("serializer", "zero"), [(IntSerializer(), 0), (StringSerializer(), ""), (FloatSerializer(), 0.0)]
)
def test_an_empty_element_is_the_zero_of_its_type(serializer: TypeSerializer[Any], zero: Any) -> None:
    assert same(serializer.create_instance(), zero)
    assert serializer.is_immutable_type()
