"""Amounts of time (``Duration``, ``Time``) and points in time (``Instant``).

All three are immutable values. Parsing text such as ``"10 s"`` lives in ``option_values``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Duration", "Instant", "Time", "duration_to_millis"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, repr=False)
class Duration:
    """Hold an amount of time, exact to the nanosecond.

    Attributes:
        nanos: The whole amount in nanoseconds; may be negative.
    """

    nanos: int

    def __post_init__(self) -> None:
        if not isinstance(self.nanos, int):
            raise TypeError(
                f"A Duration is made of whole numbers, got {self.nanos!r}; "
                "use a smaller unit, such as Duration.of_millis(1500) for 1.5 seconds."
            )

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a duration of this many days of 24 hours."""
        return Duration(days * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a duration of this many hours."""
        return Duration(hours * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a duration of this many minutes."""
        return Duration(minutes * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a duration of this many seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a duration of this many milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a duration of this many nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Return the whole milliseconds in it, cut towards zero."""
        millis = abs(self.nanos) // _NANOS_PER_MILLI
        return -millis if self.nanos < 0 else millis

    def to_nanos(self) -> int:
        """Return it in nanoseconds."""
        return self.nanos

    def __str__(self) -> str:
        """Return the ISO-8601 form that Flink shows, such as ``PT1M30.5S``."""
        if self.nanos == 0:
            return "PT0S"
        sign = "-" if self.nanos < 0 else ""
        minutes, nanos = divmod(abs(self.nanos), 60 * _NANOS_PER_SECOND)
        hours, minutes = divmod(minutes, 60)
        text = "PT"
        if hours:
            text += f"{sign}{hours}H"
        if minutes:
            text += f"{sign}{minutes}M"
        if nanos:
            seconds, fraction = divmod(nanos, _NANOS_PER_SECOND)
            text += f"{sign}{seconds}"
            if fraction:
                text += f".{fraction:09d}".rstrip("0")
            text += "S"
        return text

    def __repr__(self) -> str:
        return f"Duration({self})"


@dataclass(frozen=True, slots=True, repr=False)
class Instant:
    """Hold a point in time, counted from 1970-01-01T00:00:00Z.

    Attributes:
        seconds: Whole seconds since the epoch, negative before it.
        nanos: Nanoseconds to add to ``seconds``.
    """

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since the epoch, cut towards the past."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the instant this many milliseconds after the epoch."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """Hold a time interval in milliseconds, for windows and time-to-live."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """Return the interval in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return an interval of this many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return an interval of this many seconds."""
        return Time(seconds * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return an interval of this many minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return an interval of this many hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """Return an interval of this many days of 24 hours."""
        return Time(days * 86_400_000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time({self._milliseconds} ms)"


def duration_to_millis(amount: Duration | Time | timedelta | int, parameter: str) -> int:
    """Return an amount of time in milliseconds, however the caller wrote it.

    Args:
        amount: A ``Duration``, a ``Time``, a ``timedelta``, or an integer of milliseconds.
        parameter: What the amount is for; named in the error.

    Raises:
        TypeError: The amount is not one of these.
    """
    if isinstance(amount, Duration):
        return amount.to_millis()
    if isinstance(amount, Time):
        return amount.to_milliseconds()
    if isinstance(amount, timedelta):
        return amount // timedelta(milliseconds=1)
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    raise TypeError(
        f"The parameter {parameter!r} takes an integer of milliseconds, a datetime.timedelta, "
        f"a Duration or a Time, got {amount!r} of type {type(amount).__name__}."
    )
