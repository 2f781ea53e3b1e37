"""What flows into an operator and out of it: records with timestamps, and watermarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["StreamRecord", "Watermark"]

T = TypeVar("T")


class StreamRecord(Generic[T]):
    """Hold a value and its timestamp, which is None where the stream has none."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: T, timestamp: int | None = None) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> T:
        """Return the value."""
        return self.value

    def has_timestamp(self) -> bool:
        """Return True if there is a timestamp."""
        return self.timestamp is not None

    def get_timestamp(self) -> int | None:
        """Return the timestamp, in milliseconds since the epoch; None if there is none."""
        return self.timestamp

    def replace(self, value: Any) -> StreamRecord[Any]:
        """Return a record with another value and the same timestamp."""
        return StreamRecord(value, self.timestamp)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamRecord):
            return NotImplemented
        return bool(self.value == other.value) and self.timestamp == other.timestamp

    __hash__ = None  # type: ignore[assignment]  # its value may change

    def __repr__(self) -> str:
        return f"StreamRecord({self.value!r}, {self.timestamp!r})"


@dataclass(frozen=True, slots=True)
class Watermark:
    """The statement that no record with this timestamp or an earlier one will come, except late ones."""

    timestamp: int

    def get_timestamp(self) -> int:
        """Return the timestamp, in milliseconds since the epoch."""
        return self.timestamp
