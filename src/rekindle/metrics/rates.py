"""How fast numbers grow: each is remembered as it was some time ago. Pure: it is told the time, in milliseconds."""

from __future__ import annotations

from collections import deque

_EVERY_MS = 1000


class RateWindow:
    """Remember some growing numbers, at most once a second, for as long as their rates are to be averaged over.

    Args:
        now: The current time; the numbers are 0 then.
        count: How many numbers.
        span_ms: How long to remember them.
    """

    __slots__ = ("_noted", "_span_ms")

    def __init__(self, now: int, count: int, span_ms: int) -> None:
        self._span_ms = span_ms
        # Times and numbers, the first at least a span ago if the window is that old.
        self._noted: deque[tuple[int, tuple[float, ...]]] = deque([(now, (0,) * count)])

    def due(self, now: int) -> bool:
        """Return whether it is time to remember the numbers again."""
        return now - self._noted[-1][0] >= _EVERY_MS

    def note(self, now: int, *numbers: float) -> None:
        """Remember the numbers of this moment, if it is time to."""
        if self.due(now):
            self._noted.append((now, numbers))
        while len(self._noted) > 1 and now - self._noted[1][0] >= self._span_ms:
            self._noted.popleft()

    def per_second(self, now: int, *numbers: float) -> tuple[float, ...]:
        """Return how much the numbers, which are these now, have grown in a second."""
        self.note(now, *numbers)
        since, before = self._noted[0]
        passed = now - since
        if passed <= 0:
            return (0.0,) * len(numbers)
        return tuple((number - old) * 1000 / passed for number, old in zip(numbers, before, strict=True))
