"""Which serializer a type has."""

from __future__ import annotations

from typing import Any

from rekindle.common.class_typeinfo import SerializerTypeInfo
from rekindle.common.type_information import TypeInformation
from rekindle.serialization.pickle_serializer import PickleSerializer
from rekindle.serialization.type_serializer import TypeSerializer


def serializer_of(type_info: TypeInformation) -> TypeSerializer[Any]:
    """Give the serializer of a type."""
    if isinstance(type_info, SerializerTypeInfo):
        return type_info.serializer
    return PickleSerializer()
