"""Tuples and rows: fields by position, names and kinds of rows, and how they evolve."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from rekindle.common.typeinfo import RowTypeInfo, Types
from rekindle.common.types import Row, RowKind
from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.row_serializer import RowSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.type_serializer import TypeSerializer
from support.serializer_catalogue import same

PAIR = serializer_of(Types.TUPLE([Types.STRING(), Types.INT()]))
MIXED = serializer_of(Types.TUPLE([Types.STRING(), Types.FLOAT()]))
ROW = serializer_of(Types.ROW([Types.STRING(), Types.INT()]))
NAMED = serializer_of(Types.ROW_NAMED(["city", "visits"], [Types.STRING(), Types.INT()]))
MIXED_ROW = serializer_of(Types.ROW_NAMED(["city", "share"], [Types.STRING(), Types.FLOAT()]))


class Visit(NamedTuple):
    city: str
    count: int


class Record(Row):
    """Be a row of another class."""


def _through(serializer: TypeSerializer[Any], value: Any) -> Any:
    result = serializer.from_bytes(serializer.to_bytes(value))
    assert same(serializer.all_from_bytes(serializer.all_to_bytes([value, value])), [result, result])
    assert same(serializer.converted([value, value]), [result, result])
    return result


def test_fields_are_converted_as_they_are_alone() -> None:
    assert same(_through(PAIR, (None, 2**31)), (None, -(2**31)))
    assert same(_through(MIXED, ("a", 0.1)), ("a", 0.10000000149011612))
    assert same(_through(NAMED, Row("a", 2**31)), Row(city="a", visits=-(2**31)))


@pytest.mark.parametrize("given", [["a", 1], Row("a", 1), Row(x="a", y=1), Visit("a", 1)])
def test_lists_rows_and_named_tuples_become_tuples(given: Any) -> None:
    assert same(_through(PAIR, given), ("a", 1))
    assert same(_through(MIXED, given), ("a", 1.0))


def test_tuples_of_all_kinds_may_be_mixed() -> None:
    for serializer, expected in ((PAIR, ("a", 1)), (MIXED, ("a", 1.0))):
        records = [("a", 1), ["a", 1], Row("a", 1), Visit("a", 1)]
        assert same(serializer.all_from_bytes(serializer.all_to_bytes(records)), [expected] * 4)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "a tuple is needed"),
        ("ab", "a tuple is needed"),
        ({"a": 1}, "a tuple is needed"),
        ({"a", 1}, "a tuple is needed"),
        (("a",), "it has 1 fields"),
        (("a", 1, 2), "it has 3 fields"),
        (Row("a"), "it has 1 fields"),
    ],
)
def test_what_is_no_tuple_of_as_many_fields_is_refused(given: Any, reason: str) -> None:
    for serializer in (PAIR, MIXED):
        for refused in (serializer.to_bytes, lambda value, by=serializer: by.all_to_bytes([("a", 1), value])):
            with pytest.raises(SerializationError, match=rf"is not of type TUPLE\(STRING, (INT|FLOAT)\): {reason}"):
                refused(given)


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(SerializationError, match=r"None \(NoneType\) is not of type INT"):
        PAIR.to_bytes(("a", None))
    with pytest.raises(SerializationError, match=r"5 \(int\) is not of type STRING"):
        MIXED.all_to_bytes([("a", 1.0), (5, 1.0)])


def test_rows_get_the_names_of_their_type() -> None:
    assert same(_through(NAMED, Row("Oslo", 3)), Row(city="Oslo", visits=3))
    assert same(_through(ROW, Row("Oslo", 3)), Row(f0="Oslo", f1=3))


def test_named_fields_are_found_by_name() -> None:
    assert same(_through(NAMED, Row(visits=3, city="Oslo")), Row(city="Oslo", visits=3))
    for row in (Row(city="Oslo", guests=3), Row(city="Oslo")):
        with pytest.raises(SerializationError, match=r"is not of type ROW\(city STRING, visits INT\)"):
            NAMED.to_bytes(row)
    with pytest.raises(SerializationError, match="Field names"):
        ROW.to_bytes(Row(city="Oslo", visits=3))


@pytest.mark.parametrize("kind", RowKind)
@pytest.mark.parametrize("serializer", [NAMED, MIXED_ROW], ids=repr)
def test_rows_keep_their_kind(serializer: TypeSerializer[Any], kind: RowKind) -> None:
    assert _through(serializer, Row.of_kind(kind, "a", 1)).get_row_kind() is kind


def test_fields_of_a_row_may_be_none_and_a_row_never() -> None:
    assert same(_through(NAMED, Row(None, None)), Row(city=None, visits=None))
    assert same(_through(MIXED_ROW, Row(None, None)), Row(city=None, share=None))
    with pytest.raises(SerializationError, match=r"None .* a Row is needed"):
        NAMED.to_bytes(None)


@pytest.mark.parametrize("given", [("Oslo", 3), ["Oslo", 3], {"visits": 3, "city": "Oslo"}, Record("Oslo", 3)])
def test_tuples_lists_and_dicts_become_rows(given: Any) -> None:
    assert same(_through(NAMED, given), Row(city="Oslo", visits=3))
    assert same(_through(MIXED_ROW, given), Row(city="Oslo", share=3.0 if not isinstance(given, dict) else None))


@pytest.mark.parametrize("given", [Row("a"), Row("a", 1, 2), ("a",), "ab", 5])
def test_what_is_no_row_of_as_many_fields_is_refused(given: Any) -> None:
    for serializer in (NAMED, MIXED_ROW):
        for refused in (serializer.to_bytes, lambda value, by=serializer: by.all_to_bytes([Row("a", 1), value])):
            with pytest.raises(SerializationError, match=r"is not of type ROW\(city STRING"):
                refused(given)


def test_a_field_may_be_a_row_or_a_tuple_and_none() -> None:
    inner = Types.ROW_NAMED(["a"], [Types.INT()])
    serializer = serializer_of(Types.ROW([inner, Types.TUPLE([Types.INT()])]))
    assert same(_through(serializer, Row(Row(1), (2,))), Row(f0=Row(a=1), f1=(2,)))
    assert same(_through(serializer, Row(None, None)), Row(f0=None, f1=None))


def test_rows_can_be_keys_of_a_map() -> None:
    serializer = serializer_of(Types.MAP(Types.ROW_NAMED(["a"], [Types.INT()]), Types.INT()))
    assert _through(serializer, {Row(a=1): 2}) == {Row(a=1): 2}


def test_names_must_be_as_many_as_fields() -> None:
    with pytest.raises(ValueError, match="cannot have the names"):
        RowSerializer([serializer_of(Types.INT())], ["a", "b"])


def test_empty_records_are_made() -> None:
    assert same(PAIR.create_instance(), ("", 0))
    assert same(NAMED.create_instance(), Row(city=None, visits=None))


def _change(old: RowTypeInfo, new: RowTypeInfo) -> TypeSerializerSchemaCompatibility:
    before, now = serializer_of(old).snapshot_configuration(), serializer_of(new).snapshot_configuration()
    return now.resolve_schema_compatibility(before)


def test_renamed_fields_of_a_row_go_on_by_position() -> None:
    old = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
    new = Types.ROW_NAMED(["city", "visits"], [Types.STRING(), Types.INT()])
    assert _change(old, new).is_compatible_as_is()
    assert same(serializer_of(new).from_bytes(serializer_of(old).to_bytes(Row("x", 1))), Row(city="x", visits=1))


def test_a_changed_field_is_named() -> None:
    names = ["city", "visits"]
    result = _change(
        Types.ROW_NAMED(names, [Types.STRING(), Types.LONG()]), Types.ROW_NAMED(names, [Types.STRING(), Types.INT()])
    )
    assert result.reasons == ("field 'visits': the type was LONG and is INT now",)
    old, new = serializer_of(Types.TUPLE([Types.LONG()])), serializer_of(Types.TUPLE([Types.INT()]))
    result = new.snapshot_configuration().resolve_schema_compatibility(old.snapshot_configuration())
    assert result.reasons == ("field 0: the type was LONG and is INT now",)


def test_another_number_of_fields_is_incompatible() -> None:
    result = _change(Types.ROW([Types.INT()]), Types.ROW([Types.INT(), Types.INT()]))
    assert result.is_incompatible()
    assert result.reasons == ("ROW(f0 INT, f1 INT) was made of 1 types and is made of 2 now",)
