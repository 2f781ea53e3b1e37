"""Serializers of instants, dates, times of day and timestamps: the types of Flink that have no time zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Annotated, Any

import msgspec

from rekindle.base.time import Instant
from rekindle.exceptions import SerializationError
from rekindle.serialization.encodings.plain_check import holder_of
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer, ScalarSerializerSnapshot

__all__ = [
    "InstantSerializer",
    "LocalDateSerializer",
    "LocalDateTimeSerializer",
    "LocalTimeSerializer",
    "SqlDateSerializer",
    "SqlTimeSerializer",
    "SqlTimestampSerializer",
]

_LONG = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_SECONDS_AND_NANOS = tuple[_LONG, _LONG]
_INSTANT_HOLDER = holder_of(_SECONDS_AND_NANOS)
_NAIVE = msgspec.Meta(tz=False)


class InstantSerializer(ScalarSerializer[Instant | None]):
    """Serialize instants to the nanosecond, and None."""

    type_name = "INSTANT"
    takes_none = True
    packed_type = _SECONDS_AND_NANOS | None
    unpacks = True

    def pack(self, element: Any) -> tuple[int, int] | None:
        """Return seconds and nanoseconds."""
        if element is None:
            return None
        if not isinstance(element, Instant):
            raise SerializationError(
                f"{element!r} ({type(element).__name__}) is not of type INSTANT: an Instant is needed"
            )
        try:
            packed: tuple[int, int] = msgspec.convert(((element.seconds, element.nanos),), _INSTANT_HOLDER).value
        except msgspec.ValidationError as error:
            raise SerializationError(f"{element!r} is not of type INSTANT: {error}") from error
        return packed

    def unpack(self, packed: tuple[int, int] | None) -> Instant | None:
        """Make an instant of seconds and nanoseconds."""
        return None if packed is None else Instant(*packed)


class SqlDateSerializer(ScalarSerializer[date | None]):
    """Serialize dates, and None; of a timestamp only the date is kept."""

    type_name = "SQL_DATE"
    takes_none = True
    packed_type = Annotated[int, msgspec.Meta(ge=1, le=date.max.toordinal())] | None
    unpacks = True

    def pack(self, element: Any) -> int | None:
        """Return the number of the day, counted from the year 1."""
        if isinstance(element, date):
            return element.toordinal()
        if element is None:
            return None
        raise SerializationError(
            f"{element!r} ({type(element).__name__}) is not of type {self.type_name}: a date is needed"
        )

    def unpack(self, packed: int | None) -> date | None:
        """Return the date of a number."""
        return None if packed is None else date.fromordinal(packed)

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many elements; all at once if none of them is None."""
        try:
            return list(map(date.toordinal, elements))
        except TypeError:
            return list(map(self.pack, elements))

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many elements; all at once if none of them is None."""
        try:
            return list(map(date.fromordinal, packed))
        except TypeError:
            return list(map(self.unpack, packed))


class SqlTimeSerializer(ScalarSerializer[time | None]):
    """Serialize times of day to the microsecond, and None; a time zone is not kept."""

    type_name = "SQL_TIME"
    takes_none = True
    packed_type = Annotated[time, _NAIVE] | None

    def pack(self, element: Any) -> time | None:
        """Take the time zone away."""
        if isinstance(element, time):
            return element if type(element) is time and element.tzinfo is None else _naive_time(element)
        if element is None:
            return None
        raise SerializationError(
            f"{element!r} ({type(element).__name__}) is not of type {self.type_name}: a time is needed"
        )


class SqlTimestampSerializer(ScalarSerializer[datetime | None]):
    """Serialize timestamps to the microsecond, and None; a time zone is not kept."""

    type_name = "SQL_TIMESTAMP"
    takes_none = True
    packed_type = Annotated[datetime, _NAIVE] | None

    def pack(self, element: Any) -> datetime | None:
        """Take the time zone away."""
        if isinstance(element, datetime):
            return element if type(element) is datetime and element.tzinfo is None else _naive_timestamp(element)
        if element is None:
            return None
        raise SerializationError(
            f"{element!r} ({type(element).__name__}) is not of type {self.type_name}: a datetime is needed"
        )


class LocalDateSerializer(SqlDateSerializer):
    """Serialize dates, and None."""

    type_name = "LOCAL_DATE"


class LocalTimeSerializer(SqlTimeSerializer):
    """Serialize times of day, and None."""

    type_name = "LOCAL_TIME"


class LocalDateTimeSerializer(SqlTimestampSerializer):
    """Serialize timestamps, and None."""

    type_name = "LOCAL_DATE_TIME"


def _naive_time(element: time) -> time:
    return time(element.hour, element.minute, element.second, element.microsecond)


def _naive_timestamp(element: datetime) -> datetime:
    return datetime.combine(date(element.year, element.month, element.day), _naive_time(element.time()))


class InstantSerializerSnapshot(ScalarSerializerSnapshot[Instant | None], of=InstantSerializer):
    """Remember that elements were instants."""


class SqlDateSerializerSnapshot(ScalarSerializerSnapshot[date | None], of=SqlDateSerializer):
    """Remember that elements were dates of SQL."""


class SqlTimeSerializerSnapshot(ScalarSerializerSnapshot[time | None], of=SqlTimeSerializer):
    """Remember that elements were times of SQL."""


class SqlTimestampSerializerSnapshot(ScalarSerializerSnapshot[datetime | None], of=SqlTimestampSerializer):
    """Remember that elements were timestamps of SQL."""


class LocalDateSerializerSnapshot(ScalarSerializerSnapshot[date | None], of=LocalDateSerializer):
    """Remember that elements were local dates."""


class LocalTimeSerializerSnapshot(ScalarSerializerSnapshot[time | None], of=LocalTimeSerializer):
    """Remember that elements were local times."""


class LocalDateTimeSerializerSnapshot(ScalarSerializerSnapshot[datetime | None], of=LocalDateTimeSerializer):
    """Remember that elements were local timestamps."""
