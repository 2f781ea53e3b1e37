"""A timer service where there is no key: it tells the time and refuses timers."""

from __future__ import annotations

from abc import abstractmethod

from rekindle.contracts.time.timer_service import TimerService


class NoTimers(TimerService):
    """Refuse timers: they belong to a key."""

    def timer_service(self) -> TimerService:
        """Return the service that tells the time."""
        return self

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise self._no_key()

    def register_event_time_timer(self, timestamp: int) -> None:
        raise self._no_key()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        raise self._no_key()

    def delete_event_time_timer(self, timestamp: int) -> None:
        raise self._no_key()

    @abstractmethod
    def _no_key(self) -> Exception:
        """Return the error that says what to do instead."""
