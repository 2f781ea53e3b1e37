"""Type information for dates, times of day and timestamps."""

from __future__ import annotations

import calendar
import datetime
import time
from enum import Enum
from typing import ClassVar

from rekindle.base.type_variables import T_co
from rekindle.types.type_information import TypeInformation

__all__ = ["DateTypeInfo", "LocalTimeTypeInfo", "SqlTimeTypeInfo", "TimeTypeInfo", "TimestampTypeInfo"]

_MICROS = 1_000_000


class SqlTimeTypeInfo(TypeInformation):
    """Give access to the three types of SQL time."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """Return the type of ``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """Return the type of ``datetime.time``."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """Return the type of ``datetime.datetime``."""
        return TimestampTypeInfo()


class _FieldlessTypeInfo(TypeInformation[T_co]):
    """Make all instances of a class one value."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__

    def need_conversion(self) -> bool:
        """Return True."""
        return True


class DateTypeInfo(_FieldlessTypeInfo[datetime.date]):
    """Describe ``datetime.date``; inside it is the number of days since 1970-01-01."""

    EPOCH_ORDINAL: ClassVar[int] = datetime.date(1970, 1, 1).toordinal()

    def to_internal_type(self, obj: datetime.date | None) -> int | None:
        """Return the days since 1970-01-01."""
        return None if obj is None else obj.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, obj: int | None) -> datetime.date | None:
        """Return the date this many days after 1970-01-01."""
        return None if obj is None else datetime.date.fromordinal(obj + self.EPOCH_ORDINAL)


class TimeTypeInfo(_FieldlessTypeInfo[datetime.time]):
    """Describe ``datetime.time``; inside it is microseconds of the UTC day.

    A time without a time zone is local time.
    """

    EPOCH_ORDINAL: ClassVar[int] = calendar.timegm(time.localtime(0)) * _MICROS

    def to_internal_type(self, obj: datetime.time | None) -> int | None:
        """Return the microseconds since midnight UTC."""
        if obj is None:
            return None
        offset = self.EPOCH_ORDINAL
        if obj.tzinfo is not None:
            offset = (obj.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        return ((obj.hour * 60 + obj.minute) * 60 + obj.second) * _MICROS + obj.microsecond - offset

    def from_internal_type(self, obj: int | None) -> datetime.time | None:
        """Return the local time this many microseconds after midnight UTC."""
        if obj is None:
            return None
        seconds, micros = divmod(obj + self.EPOCH_ORDINAL, _MICROS)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour % 24, minute, second, micros)


class TimestampTypeInfo(_FieldlessTypeInfo[datetime.datetime]):
    """Describe ``datetime.datetime``; inside it is microseconds since the epoch.

    A timestamp without a time zone is local time.
    """

    def to_internal_type(self, obj: datetime.datetime | None) -> int | None:
        """Return the microseconds since the epoch."""
        if obj is None:
            return None
        if obj.tzinfo is not None:
            seconds = calendar.timegm(obj.utctimetuple())
        else:
            seconds = int(time.mktime(obj.timetuple()))
        return seconds * _MICROS + obj.microsecond

    def from_internal_type(self, obj: int | None) -> datetime.datetime | None:
        """Return the local time this many microseconds after the epoch."""
        if obj is None:
            return None
        seconds, micros = divmod(obj, _MICROS)
        return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


class LocalTimeTypeInfo(TypeInformation):
    """Describe a date, a time or both without a time zone.

    Attributes:
        time_type: Which of them.
    """

    class TimeType(Enum):
        """Name the kinds of local time."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        if not isinstance(time_type, LocalTimeTypeInfo.TimeType):
            raise TypeError(f"Unsupported TimeType: {time_type!r}.")
        self.time_type = time_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalTimeTypeInfo) and self.time_type is other.time_type

    def __hash__(self) -> int:
        return hash(self.time_type)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self.time_type.name}>"
