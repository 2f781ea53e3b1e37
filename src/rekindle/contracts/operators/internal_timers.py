"""Timers of operators: each belongs to a key and a namespace, in a service that has a name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

__all__ = ["InternalTimer", "InternalTimerService", "Triggerable"]


@dataclass(frozen=True, slots=True)
class InternalTimer:
    """A timer: its time, its key and its namespace."""

    timestamp: int
    key: Any
    namespace: Any = None

    def get_timestamp(self) -> int:
        """Return when it is due, in milliseconds since the epoch."""
        return self.timestamp

    def get_key(self) -> Any:
        """Return the key."""
        return self.key

    def get_namespace(self) -> Any:
        """Return the namespace."""
        return self.namespace


class Triggerable(ABC):
    """React to timers; the timer's key is the current key then."""

    @abstractmethod
    def on_event_time(self, timer: InternalTimer) -> None:
        """React to a timer that the watermark has reached."""

    @abstractmethod
    def on_processing_time(self, timer: InternalTimer) -> None:
        """React to a timer that the clock has reached."""


class InternalTimerService(ABC):
    """Set timers for the current key. The same namespace and time are one timer; timers are part of checkpoints.

    Namespaces may be of any type that can be hashed; None is the one for operators that need none.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the time of the clock, in milliseconds since the epoch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the last watermark that the operator has processed."""

    @abstractmethod
    def register_event_time_timer(self, namespace: Any, time: int) -> None:
        """Set a timer for when the watermark reaches ``time``."""

    @abstractmethod
    def delete_event_time_timer(self, namespace: Any, time: int) -> None:
        """Remove a timer if it is set."""

    @abstractmethod
    def register_processing_time_timer(self, namespace: Any, time: int) -> None:
        """Set a timer for when the clock reaches ``time``."""

    @abstractmethod
    def delete_processing_time_timer(self, namespace: Any, time: int) -> None:
        """Remove a timer if it is set."""
