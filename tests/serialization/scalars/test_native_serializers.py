"""Types that Python has and PyFlink has not: kept exactly, and refused where they are of another type."""

from __future__ import annotations

import collections
import datetime as dt
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from rekindle.common.annotations import as_type_info
from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.composites.native_collection_serializers import NamedTupleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.native_typeinfo import (
    ContainerTypeInfo,
    NamedTupleTypeInfo,
    NativeTypeInfo,
    NullableTypeInfo,
)
from rekindle.types.type_serializer import TypeSerializer
from support.serializer_catalogue import Color, Point, same


def _serializer(annotation: Any) -> TypeSerializer[Any]:
    return serializer_of(as_type_info(annotation, "the test"))


def _through(annotation: Any, value: Any) -> Any:
    serializer = _serializer(annotation)
    return serializer.from_bytes(serializer.to_bytes(value))


class Visit(NamedTuple):
    city: str
    count: int


Untyped = collections.namedtuple("Untyped", "a b")


def test_an_int_may_be_of_any_size_and_is_not_wrapped() -> None:
    assert _through(int, 2**100) == 2**100


def test_a_float_may_be_given_as_an_int() -> None:
    assert same(_through(float, 1), 1.0)


def test_a_datetime_keeps_its_offset_and_goes_without_if_it_has_none() -> None:
    oslo = dt.timezone(dt.timedelta(hours=2, seconds=17))
    for stamp in (dt.datetime(2020, 1, 2, 3, 4, 5, 6), dt.datetime(2020, 7, 2, tzinfo=oslo)):
        assert same(_through(dt.datetime, stamp), stamp)
    in_zone = dt.datetime(2020, 7, 2, 12, tzinfo=ZoneInfo("Europe/Oslo"))
    kept = _through(dt.datetime, in_zone)
    assert kept == in_zone
    assert kept.utcoffset() == dt.timedelta(hours=2)


def test_a_timedelta_is_exact_to_the_ends_of_its_range() -> None:
    for delta in (dt.timedelta.max, dt.timedelta.min, dt.timedelta(microseconds=-1)):
        assert _through(dt.timedelta, delta) == delta


@pytest.mark.parametrize(
    ("annotation", "given", "type_name"),
    [
        (dt.datetime, dt.date(2020, 1, 1), "datetime"),
        (dt.datetime, "2020-01-01", "datetime"),
        (dt.datetime, None, "datetime"),
        (dt.time, dt.datetime(2020, 1, 1), "time"),
        (dt.timedelta, 5, "timedelta"),
        (UUID, "0" * 32, "UUID"),
        (bytes, "text", r"PRIMITIVE_ARRAY\(BYTE\)"),
        (set[int], [1], r"set\[BIG_INT\]"),
        (set[int], {"a"}, "BIG_INT"),
        (frozenset[int], {1}, r"frozenset\[BIG_INT\]"),
        (tuple[int, ...], [1], r"tuple\[BIG_INT, \.\.\.\]"),
        (Visit, ("a",), "named tuple test_native_serializers.Visit"),
        (Visit, None, "named tuple test_native_serializers.Visit"),
        (Visit, ("a", "b"), "BIG_INT"),
    ],
    ids=str,
)
def test_values_of_another_type_are_refused(annotation: Any, given: Any, type_name: str) -> None:
    serializer = _serializer(annotation)
    for refused in (lambda: serializer.to_bytes(given), lambda: serializer.all_to_bytes([given, given])):
        with pytest.raises(SerializationError, match=type_name):
            refused()


def test_equal_frozen_sets_are_equal_bytes() -> None:
    serializer = _serializer(frozenset[int])
    numbers = [0, 8, 16, 32, 64, 1 << 70]  # they collide, so that the order of a set is that of its making
    left, right = frozenset(numbers), frozenset(reversed(numbers))
    assert list(left) != list(right)
    assert serializer.to_bytes(left) == serializer.to_bytes(right)


def test_a_named_tuple_comes_back_as_one() -> None:
    assert same(_through(Visit, Visit("Oslo", 3)), Visit("Oslo", 3))
    assert same(_through(Visit, ("Oslo", 3)), Visit("Oslo", 3))
    assert same(_through(Untyped, Untyped([1], {"a": 2})), Untyped([1], {"a": 2}))
    assert same(_serializer(Visit).create_instance(), Visit("", 0))


def test_named_tuples_of_other_classes_are_other_types() -> None:
    class Visit(NamedTuple):
        city: str
        count: int

    new, old = _serializer(Visit).snapshot_configuration(), _serializer(globals()["Visit"]).snapshot_configuration()
    result = new.resolve_schema_compatibility(old)
    assert result.is_incompatible()
    assert "the class was test_native_serializers.Visit and is" in result.reasons[0]
    with pytest.raises(SerializerSnapshotError, match="inside a function"):
        snapshot_to_bytes(new)


def test_fields_that_changed_places_are_refused_and_new_names_are_not() -> None:
    old, reordered, renamed = (
        NamedTuple("Pair", fields)
        for fields in ([("x", int), ("y", int)], [("y", int), ("x", int)], [("x", int), ("z", int)])
    )
    before = _serializer(old).snapshot_configuration()
    result = _serializer(reordered).snapshot_configuration().resolve_schema_compatibility(before)
    assert result.is_incompatible()
    assert "Pair were x, y and are y, x now" in result.reasons[0]
    assert _serializer(renamed).snapshot_configuration().resolve_schema_compatibility(before).is_compatible_as_is()


def test_a_field_of_another_type_is_named() -> None:
    strings = [serializer_of(Types.STRING())] * 2
    result = (
        _serializer(Visit)
        .snapshot_configuration()
        .resolve_schema_compatibility(NamedTupleSerializer(Visit, strings).snapshot_configuration())
    )
    assert result.reasons == ("field 'count': the type was STRING and is BIG_INT now",)


def test_a_named_tuple_that_became_something_else_cannot_be_restored() -> None:
    stored = snapshot_to_bytes(_serializer(Visit).snapshot_configuration())
    for other in (b"Color", b"Gone_"):
        snapshot = snapshot_from_bytes(stored.replace(b"Visit", other))
        with pytest.raises(SerializerSnapshotError, match=other.decode()):
            snapshot.restore_serializer()


def test_a_set_is_no_list() -> None:
    new, old = _serializer(set[int]).snapshot_configuration(), _serializer(list[int]).snapshot_configuration()
    assert new.resolve_schema_compatibility(old).reasons == ("the type was LIST(BIG_INT) and is set[BIG_INT] now",)


def test_only_frozen_sets_and_tuples_of_what_never_changes_never_change() -> None:
    immutable = [frozenset[int], tuple[int, ...], tuple[int, str], Visit, Color, dt.datetime, UUID, int | None]
    mutable = [set[int], tuple[list[int], ...], tuple[int, list[int]], list[int], dict[str, int], list[int] | None]
    assert all(_serializer(annotation).is_immutable_type() for annotation in immutable)
    assert not any(_serializer(annotation).is_immutable_type() for annotation in mutable)


def test_native_types_are_values() -> None:
    makers = [
        lambda: NativeTypeInfo(UUID),
        lambda: NullableTypeInfo(Types.INT()),
        lambda: ContainerTypeInfo(set, Types.INT()),
        lambda: NamedTupleTypeInfo(Point, [Types.INT(), Types.STRING(), Types.INT()]),
    ]
    made = [make() for make in makers]
    assert made == [make() for make in makers]
    assert len(set(made) | {make() for make in makers}) == len(makers)
    assert [repr(type_info) for type_info in made] == [
        "NativeTypeInfo<UUID>",
        "NullableTypeInfo<Integer>",
        "ContainerTypeInfo<set, Integer>",
        "NamedTupleTypeInfo<support.serializer_catalogue.Point>",
    ]


def test_native_types_refuse_what_they_are_not_for() -> None:
    for wrong in (
        lambda: NativeTypeInfo(int),
        lambda: NullableTypeInfo(int),  # type: ignore[arg-type]
        lambda: ContainerTypeInfo(list, Types.INT()),
        lambda: NamedTupleTypeInfo(tuple, []),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="shorter"):
        NamedTupleTypeInfo(Point, [Types.INT()])
