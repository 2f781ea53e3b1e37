"""Keys whose type a schema tells: written by it, never changed by it, and readable whatever wrote them before."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer
from rekindle.types.compatibility import Outcome
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer


def inferred(type_info: TypeInformation) -> InferredKeySerializer:
    return InferredKeySerializer(serializer_of(NullableTypeInfo(type_info)))


STRING, LONG = inferred(Types.STRING()), inferred(Types.LONG())
TUPLE = inferred(Types.TUPLE([NullableTypeInfo(Types.STRING()), NullableTypeInfo(Types.LONG())]))

ODD: list[Any] = [1.0, True, 1 << 63, "1", b"1", (1,), ("a", 1, 2), ("a", True), "\ud800", float("nan"), {"a": 1}]


@pytest.mark.parametrize("serializer", [STRING, LONG, TUPLE], ids=str)
@pytest.mark.parametrize("key", ["a", 1, None, ("a", 1), (None, None), *ODD], ids=repr)
def test_any_key_comes_back_as_it_was(serializer: InferredKeySerializer, key: Any) -> None:
    for again in (
        serializer.from_bytes(serializer.to_bytes(key)),
        *serializer.all_from_bytes(serializer.all_to_bytes([key])),
    ):
        assert type(again) is type(key)
        assert again == key or key != key
    assert serializer.converted([key]) == [key] or key != key


@pytest.mark.parametrize(("serializer", "keys"), [(STRING, ["ada", None]), (LONG, [1, None]), (TUPLE, [("a", None)])])
def test_keys_of_the_type_are_not_pickled(serializer: InferredKeySerializer, keys: list[Any]) -> None:
    for data in (serializer.all_to_bytes(keys), *map(serializer.to_bytes, keys)):
        with pytest.raises(pickle.UnpicklingError):
            pickle.loads(data)
    assert serializer.all_to_bytes(keys)[1:] == serializer.inner.all_to_bytes(keys)


@pytest.mark.parametrize("serializer", [STRING, LONG, TUPLE], ids=str)
def test_keys_that_were_pickled_before_are_read(serializer: InferredKeySerializer) -> None:
    keys = ["a", 1, ("a", 1), None, True]
    pickled = PickleSerializer()
    assert serializer.all_from_bytes(pickled.all_to_bytes(keys)) == keys
    assert [serializer.from_bytes(pickled.to_bytes(key)) for key in keys] == keys


def outcome(old: TypeSerializer[Any], new: TypeSerializer[Any]) -> tuple[Outcome, Any]:
    before = snapshot_from_bytes(snapshot_to_bytes(old.snapshot_configuration()))
    result = new.snapshot_configuration().resolve_schema_compatibility(before)
    return result.outcome, result.reconfigured


@pytest.mark.parametrize(
    ("old", "new", "expected", "goes_on_with"),
    [
        (PickleSerializer(), STRING, Outcome.AS_IS, None),
        (STRING, STRING, Outcome.AS_IS, None),
        (STRING, LONG, Outcome.RECONFIGURED, STRING),
        (TUPLE, STRING, Outcome.RECONFIGURED, TUPLE),
        (STRING, PickleSerializer(), Outcome.RECONFIGURED, STRING),
        (LONG, serializer_of(Types.LONG()), Outcome.RECONFIGURED, LONG),
        (LONG, serializer_of(Types.INT()), Outcome.INCOMPATIBLE, None),
        (STRING, serializer_of(Types.LONG()), Outcome.INCOMPATIBLE, None),
        (serializer_of(Types.STRING()), STRING, Outcome.INCOMPATIBLE, None),
    ],
    ids=str,
)
def test_no_key_is_refused_because_its_type_was_inferred(
    old: TypeSerializer[Any], new: TypeSerializer[Any], expected: Outcome, goes_on_with: Any
) -> None:
    assert outcome(old, new) == (expected, goes_on_with)


def test_a_type_of_which_no_value_is_known_to_come_back_is_none_for_keys() -> None:
    with pytest.raises(TypeError, match="not known which keys come back"):
        InferredKeySerializer(serializer_of(Types.FLOAT()))
