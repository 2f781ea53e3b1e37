"""The interface through which functions read the clocks and set timers."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Read the current times and set timers for the current key.

    A timer is identified by (key, time domain, timestamp): registering the same one again changes nothing.
    Timers are part of every snapshot. All times are milliseconds since the epoch.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the wall-clock time of the subtask."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event-time watermark: -2**63 before the first one, 2**63 - 1 after the end of input."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Ask for a call of ``on_timer`` once processing time has reached ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Ask for a call of ``on_timer`` once the watermark has reached ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget the current key's processing-time timer at ``timestamp``, if there is one."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the current key's event-time timer at ``timestamp``, if there is one."""
