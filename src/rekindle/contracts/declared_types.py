"""What programs may give where a type is asked for."""

from __future__ import annotations

from typing import Any

from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.annotations import as_type_info
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

RecordType = TypeInformation | TypeSerializer[Any] | type[Any] | Any
"""What says what a stream holds: a type out of ``Types``, a serializer, a dataclass or another class, an annotation."""


def declared_type(given: RecordType | None, place: str) -> TypeInformation | None:
    """Return the type that a program declared; None if it declared none.

    Args:
        given: What the program gave.
        place: Where; named in errors.

    Raises:
        TypeError: It is not a type.
        SerializationError: Records of it could not be serialized.
    """
    if given is None:
        return None
    type_info = as_type_info(given, place)
    serializer_of(type_info)  # what cannot be serialized is refused here, not in the slots
    return type_info
