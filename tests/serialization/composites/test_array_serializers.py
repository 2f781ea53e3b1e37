"""Arrays: bytes, primitive arrays without None, and arrays of any type that know what their components are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization import DataInputView, DataOutputView, GenericArraySerializer
from rekindle.serialization.composites.array_serializers import GenericArraySerializerSnapshot
from rekindle.serialization.scalars.integer_serializers import IntSerializer, LongSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.type_information import TypeInformation
from support.serializer_catalogue import same


def _through(type_info: TypeInformation, value: Any) -> Any:
    serializer = serializer_of(type_info)
    result = serializer.from_bytes(serializer.to_bytes(value))
    assert same(serializer.all_from_bytes(serializer.all_to_bytes([value, value])), [result, result])
    return result


BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
PRIMITIVE = Types.PRIMITIVE_ARRAY(Types.INT())
BASIC = Types.BASIC_ARRAY(Types.INT())
OBJECTS = Types.OBJECT_ARRAY(Types.INT())


@pytest.mark.parametrize("given", [b"ab", bytearray(b"ab"), memoryview(b"ab")])
def test_a_primitive_array_of_bytes_is_bytes(given: Any) -> None:
    assert same(_through(BYTES, given), b"ab")


@pytest.mark.parametrize("given", [[1, 2], "ab", None, 5])
def test_a_primitive_array_of_bytes_is_nothing_else(given: Any) -> None:
    with pytest.raises(SerializationError, match=r"is not of type PRIMITIVE_ARRAY\(BYTE\): bytes are needed"):
        _through(BYTES, given)


@pytest.mark.parametrize("type_info", [PRIMITIVE, BASIC, OBJECTS], ids=repr)
def test_other_arrays_are_lists(type_info: TypeInformation) -> None:
    assert same(_through(type_info, [1, 2**31, True]), [1, -(2**31), 1])
    for given in ((1, 2), np.array([1, 2]), None, "ab"):
        with pytest.raises(SerializationError, match=r"ARRAY\(INT\): a list is needed"):
            _through(type_info, given)


@pytest.mark.parametrize("type_info", [BASIC, OBJECTS], ids=repr)
def test_elements_of_basic_and_object_arrays_may_be_none(type_info: TypeInformation) -> None:
    assert _through(type_info, [None, 1]) == [None, 1]


def test_elements_of_primitive_arrays_are_never_none() -> None:
    with pytest.raises(SerializationError, match=r"None \(NoneType\) is not of type INT"):
        _through(PRIMITIVE, [1, None])


def test_an_array_of_characters_is_a_list_of_them() -> None:
    assert _through(Types.PRIMITIVE_ARRAY(Types.CHAR()), ["a", "𝄞"]) == ["a", "𝄞"]
    with pytest.raises(SerializationError, match="CHAR"):
        _through(Types.PRIMITIVE_ARRAY(Types.CHAR()), ["ab"])


def test_basic_and_object_arrays_of_a_type_are_the_same() -> None:
    assert serializer_of(BASIC) == serializer_of(OBJECTS) == GenericArraySerializer("INT", IntSerializer())
    assert serializer_of(PRIMITIVE) != serializer_of(BASIC)


def test_the_snapshot_of_a_generic_array_holds_the_name_of_its_component_type() -> None:
    snapshot = GenericArraySerializer("INT", IntSerializer()).snapshot_configuration()
    output = DataOutputView()
    snapshot.write_outer_snapshot(output)
    other = GenericArraySerializerSnapshot()
    other.read_outer_snapshot(1, DataInputView(output.getvalue()))
    assert other.is_outer_snapshot_compatible(GenericArraySerializer("INT", LongSerializer()))
    assert not other.is_outer_snapshot_compatible(GenericArraySerializer("LONG", IntSerializer()))
    restored = snapshot_from_bytes(snapshot_to_bytes(snapshot)).restore_serializer()
    assert isinstance(restored, GenericArraySerializer)
    assert restored.component_type == "INT"


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        (
            BASIC,
            Types.BASIC_ARRAY(Types.LONG()),
            ("the elements were INT and are LONG now", "element: the type was INT and is LONG now"),
        ),
        (
            Types.OBJECT_ARRAY(Types.LIST(Types.INT())),
            Types.OBJECT_ARRAY(Types.LIST(Types.LONG())),
            ("element: element: the type was INT and is LONG now",),
        ),
        (PRIMITIVE, Types.PRIMITIVE_ARRAY(Types.LONG()), ("element: the type was INT and is LONG now",)),
        (PRIMITIVE, BASIC, ("the type was PRIMITIVE_ARRAY(INT) and is OBJECT_ARRAY(INT) now",)),
    ],
    ids=str,
)
def test_arrays_of_other_elements_are_incompatible(
    old: TypeInformation, new: TypeInformation, reasons: tuple[str, ...]
) -> None:
    before, now = serializer_of(old).snapshot_configuration(), serializer_of(new).snapshot_configuration()
    result = now.resolve_schema_compatibility(before)
    assert result.is_incompatible()
    assert result.reasons == reasons


def test_an_array_goes_on_when_its_rows_are_renamed() -> None:
    old = Types.OBJECT_ARRAY(Types.ROW_NAMED(["a"], [Types.INT()]))
    new = Types.OBJECT_ARRAY(Types.ROW_NAMED(["b"], [Types.INT()]))
    before, now = serializer_of(old).snapshot_configuration(), serializer_of(new).snapshot_configuration()
    assert now.resolve_schema_compatibility(before).is_compatible_as_is()


def test_empty_arrays_are_made() -> None:
    assert serializer_of(PRIMITIVE).create_instance() == serializer_of(OBJECTS).create_instance() == []
