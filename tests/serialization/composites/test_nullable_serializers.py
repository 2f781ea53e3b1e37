"""None besides the elements of another serializer."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization import (
    NullableSerializer,
    PickleSerializer,
    SimpleTypeSerializerSnapshot,
    TypeSerializer,
    TypeSerializerSnapshot,
)
from rekindle.serialization.scalars.basic_serializers import FloatSerializer, StringSerializer
from rekindle.serialization.scalars.integer_serializers import IntSerializer, LongSerializer
from rekindle.serialization.serializer_of import serializer_of


class YesSerializer(TypeSerializer[bool]):
    """Serialize only True, to nothing at all."""

    def serialize(self, element: bool, stream: BytesIO) -> None:
        assert element is True

    def deserialize(self, stream: BytesIO) -> bool:
        return True

    def snapshot_configuration(self) -> TypeSerializerSnapshot[bool]:
        return YesSerializerSnapshot()


class YesSerializerSnapshot(SimpleTypeSerializerSnapshot[bool]):
    def __init__(self) -> None:
        super().__init__(YesSerializer)


@pytest.mark.parametrize(
    ("inner", "element"),
    [
        (LongSerializer(), 5),
        (FloatSerializer(), 0.5),
        (YesSerializer(), True),
        (serializer_of(Types.LIST(Types.BIG_DEC())), []),
    ],
    ids=repr,
)
def test_none_comes_back_and_so_does_everything_else(inner: TypeSerializer[Any], element: Any) -> None:
    serializer = NullableSerializer(inner)
    for elements in ([None, element], [element, element], [None], []):
        assert serializer.all_from_bytes(serializer.all_to_bytes(elements)) == elements
        assert [serializer.from_bytes(serializer.to_bytes(each)) for each in elements] == elements


def test_a_serializer_that_takes_none_is_not_wrapped() -> None:
    for serializer in (StringSerializer(), PickleSerializer(), NullableSerializer(IntSerializer())):
        assert NullableSerializer.wrap(serializer) is serializer
    assert NullableSerializer.wrap(IntSerializer()) == NullableSerializer(IntSerializer())


def test_what_the_inner_serializer_refuses_is_refused() -> None:
    serializer = NullableSerializer(IntSerializer())
    for refused in (lambda: serializer.to_bytes("x"), lambda: serializer.all_to_bytes([None, "x"])):
        with pytest.raises(SerializationError, match=r"'x' .* is not of type INT"):
            refused()


def test_the_inner_type_decides_about_compatibility() -> None:
    new = NullableSerializer(IntSerializer()).snapshot_configuration()
    same, other = NullableSerializer(IntSerializer()), NullableSerializer(LongSerializer())
    assert new.resolve_schema_compatibility(same.snapshot_configuration()).is_compatible_as_is()
    result = new.resolve_schema_compatibility(other.snapshot_configuration())
    assert result.is_incompatible()
    assert result.reasons == ("what is not None: the type was LONG and is INT now",)


def test_a_type_with_none_is_another_type() -> None:
    plain, nullable = IntSerializer().snapshot_configuration(), NullableSerializer(IntSerializer())
    result = nullable.snapshot_configuration().resolve_schema_compatibility(plain)
    assert result.reasons == ("the type was INT and is INT or None now",)
    assert plain.resolve_schema_compatibility(nullable.snapshot_configuration()).is_incompatible()
