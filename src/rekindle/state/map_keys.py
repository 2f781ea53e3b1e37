"""Keys of maps whose type changes them: a FLOAT is rounded, a Row gets the names of its fields.

What a program puts in under one key it must find under the same key again, before and after a restore. So such keys are
converted on every access. Other types leave keys as they are; what does not fit them is refused when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rekindle.contracts.state import MapState
from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.nullable_serializer import NullableSerializer
from rekindle.serialization.composites.row_serializer import RowSerializer
from rekindle.serialization.composites.tuple_serializer import TupleSerializer
from rekindle.serialization.scalars.basic_serializers import FloatSerializer
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer
from rekindle.types.type_serializer import TypeSerializer

Conversion = Callable[[Any], Any]


def key_conversion(serializer: TypeSerializer[Any]) -> Conversion | None:
    """Return what turns a key into what it is after a restore; None where that is the key itself."""
    if not _changes_keys(serializer):
        return None
    return lambda key: serializer.converted([key])[0]


def check_unchanged(serializer: TypeSerializer[Any], keys: list[Any]) -> None:
    """Raise if keys that are about to be written would come back as others, such as 1.5 in an INT as 1."""
    if not isinstance(serializer, ScalarSerializer | TupleSerializer | RowSerializer | NullableSerializer):
        return
    after = serializer.converted(keys)
    if after != keys:
        for key, converted in zip(keys, after, strict=True):
            if key != converted and key == key:
                raise SerializationError(f"map key {key!r} would come back as {converted!r}: it does not fit its type")


class ConvertedKeysMapState(MapState[Any, Any]):
    """Convert the keys of a map before they are looked up."""

    __slots__ = ("_convert", "_map")

    def __init__(self, inner: MapState[Any, Any], convert: Conversion) -> None:
        self._map = inner
        self._convert = convert

    def get(self, key: Any) -> Any:
        return self._map.get(self._convert(key))

    def put(self, key: Any, value: Any) -> None:
        self._map.put(self._convert(key), value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self._map.put_all({self._convert(key): value for key, value in dict_value.items()})

    def remove(self, key: Any) -> None:
        self._map.remove(self._convert(key))

    def contains(self, key: Any) -> bool:
        return self._map.contains(self._convert(key))

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._map.items()

    def keys(self) -> Iterable[Any]:
        return self._map.keys()

    def values(self) -> Iterable[Any]:
        return self._map.values()

    def is_empty(self) -> bool:
        return self._map.is_empty()

    def clear(self) -> None:
        self._map.clear()


def _changes_keys(serializer: TypeSerializer[Any]) -> bool:
    if isinstance(serializer, FloatSerializer | RowSerializer):
        return True
    if isinstance(serializer, TupleSerializer):
        return any(map(_changes_keys, serializer.fields))
    return isinstance(serializer, NullableSerializer) and _changes_keys(serializer.inner)
