"""The serializer of a type, whichever family it is of; ``serializers_by_type`` knows which one that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rekindle.exceptions import InvalidCallError
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

_MAKERS: dict[type[TypeInformation], Callable[[Any], TypeSerializer[Any]]] = {}


def register_serializers(makers: Mapping[type[TypeInformation], Callable[[Any], TypeSerializer[Any]]]) -> None:
    """Say how the serializers of types are made."""
    _MAKERS.update(makers)


def serializer_of(type_info: TypeInformation) -> TypeSerializer[Any]:
    """Return the serializer of a type.

    Raises:
        InvalidCallError: It is a custom type information without a serializer.
    """
    maker = _MAKERS.get(type(type_info))
    if maker is None:
        maker = next((made for kind, made in _MAKERS.items() if isinstance(type_info, kind)), None)
    if maker is None:
        raise InvalidCallError(
            f"there is no serializer for {type_info!r}; give the TypeSerializer itself in place of the type"
        )
    return maker(type_info)
