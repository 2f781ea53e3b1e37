"""Types out of what programs say in Python's own words: annotations, classes, serializers."""

from __future__ import annotations

from typing import Any

from rekindle.common.class_typeinfo import SerializerTypeInfo
from rekindle.common.type_information import TypeInformation, require_type
from rekindle.serialization.type_serializer import TypeSerializer


def type_of_annotation(annotation: Any) -> TypeInformation | None:
    """Give the type that an annotation stands for; None: any Python object."""
    return None


def as_type_info(given: Any, place: str) -> TypeInformation:
    """Give the type that a program means: type information, a class, an annotation, or a serializer.

    Args:
        given: What the program gave.
        place: Where it was given; named in the error.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(given, TypeSerializer):
        return SerializerTypeInfo(given)
    return require_type(given, place)
