"""How far the inputs of an operator are: watermarks and ends. Pure."""

from __future__ import annotations

from rekindle.runtime.exchange.payload import Progress
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK


class InputProgress:
    """Combine what the upstream subtasks of one input say; the slowest one counts."""

    __slots__ = ("_ended", "_producers", "_watermarks")

    def __init__(self, producers: int) -> None:
        self._producers = producers
        self._watermarks: dict[int, int] = {}
        self._ended: set[int] = set()

    def update(self, progress: Progress) -> None:
        """Take word of one upstream subtask."""
        self._watermarks[progress.producer] = max(
            progress.watermark, self._watermarks.get(progress.producer, MIN_WATERMARK)
        )
        if progress.ended:
            self._ended.add(progress.producer)

    def end(self) -> None:
        """Note that all upstream subtasks have ended."""
        self._ended.update(range(self._producers))

    @property
    def ended(self) -> bool:
        """Tell whether no more records will come."""
        return len(self._ended) == self._producers

    @property
    def watermark(self) -> int:
        """Give the watermark of the input."""
        if self.ended:
            return MAX_WATERMARK
        if len(self._watermarks.keys() | self._ended) < self._producers:
            return MIN_WATERMARK
        return min(mark for producer, mark in self._watermarks.items() if producer not in self._ended)
