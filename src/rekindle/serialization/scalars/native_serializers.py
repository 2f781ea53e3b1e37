"""Serializers of types that Python has and PyFlink has not: they keep a value exactly as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer, ScalarSerializerSnapshot

__all__ = ["DateTimeSerializer", "TimeSerializer", "TimedeltaSerializer", "UuidSerializer"]

_INT = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]


class _IsoSerializer(ScalarSerializer[Any]):
    """Serialize values as ISO 8601 writes them, by functions that are written in C."""

    packed_type = str
    unpacks = True
    _kind: type
    _write: Callable[[Any], str]
    _read: Callable[[str], Any]

    def pack(self, element: Any) -> str:
        """Write a value."""
        if isinstance(element, self._kind):
            return type(self)._write(element)
        raise SerializationError(f"{element!r} ({type(element).__name__}) is not of type {self.type_name}")

    def unpack(self, packed: str) -> Any:
        """Read a value."""
        return type(self)._read(packed)

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Write many values."""
        try:
            return list(map(type(self)._write, elements))
        except TypeError:
            return list(map(self.pack, elements))

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Read many values."""
        return list(map(type(self)._read, packed))


class DateTimeSerializer(_IsoSerializer):
    """Serialize ``datetime.datetime`` with its offset to UTC; without one it stays without."""

    type_name = "datetime"
    _kind, _write, _read = datetime, datetime.isoformat, datetime.fromisoformat


class TimeSerializer(_IsoSerializer):
    """Serialize ``datetime.time`` with its offset to UTC; without one it stays without."""

    type_name = "time"
    _kind, _write, _read = time, time.isoformat, time.fromisoformat


class TimedeltaSerializer(ScalarSerializer[timedelta]):
    """Serialize ``datetime.timedelta``."""

    type_name = "timedelta"
    packed_type = tuple[_INT, _INT, _INT]
    unpacks = True

    def pack(self, element: Any) -> tuple[int, int, int]:
        """Return days, seconds and microseconds."""
        if isinstance(element, timedelta):
            return element.days, element.seconds, element.microseconds
        raise SerializationError(f"{element!r} ({type(element).__name__}) is not a timedelta")

    def unpack(self, packed: tuple[int, int, int]) -> timedelta:
        """Make a timedelta of days, seconds and microseconds."""
        return timedelta(*packed)


class UuidSerializer(ScalarSerializer[UUID]):
    """Serialize ``uuid.UUID``."""

    type_name = "UUID"
    packed_type = UUID

    def pack(self, element: Any) -> UUID:
        """Check that it is a UUID."""
        if isinstance(element, UUID):
            return element
        raise SerializationError(f"{element!r} ({type(element).__name__}) is not a UUID")


class DateTimeSerializerSnapshot(ScalarSerializerSnapshot[datetime], of=DateTimeSerializer):
    """Remember that elements were ``datetime.datetime``."""


class TimeSerializerSnapshot(ScalarSerializerSnapshot[time], of=TimeSerializer):
    """Remember that elements were ``datetime.time``."""


class TimedeltaSerializerSnapshot(ScalarSerializerSnapshot[timedelta], of=TimedeltaSerializer):
    """Remember that elements were ``datetime.timedelta``."""


class UuidSerializerSnapshot(ScalarSerializerSnapshot[UUID], of=UuidSerializer):
    """Remember that elements were ``uuid.UUID``."""


OF_CLASS: dict[type, type[ScalarSerializer[Any]]] = {
    datetime: DateTimeSerializer,
    time: TimeSerializer,
    timedelta: TimedeltaSerializer,
    UUID: UuidSerializer,
}
"""The serializers by the class whose instances they take."""
