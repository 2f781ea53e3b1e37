"""Gathers the slots' reports at the end of an epoch, and whatever else all slots must answer."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class SlotAnswers(Generic[T]):
    """Wait until every slot has answered, or somebody says that they will not."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._changed = threading.Condition()
        self._answers: dict[int, T] = {}
        self._error: BaseException | None = None

    def put(self, slot: int, answer: T) -> None:
        """Take a slot's answer."""
        with self._changed:
            self._answers[slot] = answer
            self._changed.notify_all()

    @property
    def count(self) -> int:
        """Return how many slots have answered."""
        with self._changed:
            return len(self._answers)

    def fail(self, error: BaseException) -> None:
        """End the wait with an error."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> list[T]:
        """Wait for all answers; give them by slot."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._error or len(self._answers) == self._slots, timeout)
            if self._error is not None:
                raise self._error
            if not done:
                missing = sorted(set(range(self._slots)) - self._answers.keys())
                raise TimeoutError(f"slots {missing} did not answer within {timeout} s")
            return [answer for _, answer in sorted(self._answers.items())]
