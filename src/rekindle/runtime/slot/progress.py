"""How far the inputs of an operator are: watermarks, idleness and ends. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rekindle.runtime.exchange.payload import Progress
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK


class InputProgress:
    """Keep what the upstream subtasks of one input say of themselves."""

    __slots__ = ("_ended", "_idle", "_watermarks")

    def __init__(self, producers: int, first: int = 0) -> None:
        """Expect word of so many upstream subtasks, counted from the first."""
        self._watermarks = dict.fromkeys(range(first, first + producers), MIN_WATERMARK)
        self._idle: set[int] = set()
        self._ended: set[int] = set()

    def update(self, progress: Progress) -> None:
        """Take word of one upstream subtask."""
        producer = progress.producer
        self._watermarks[producer] = max(progress.watermark, self._watermarks[producer])
        if progress.idle:
            self._idle.add(producer)
        else:
            self._idle.discard(producer)
        if progress.ended:
            self._ended.add(producer)

    def settle(self, progress: Progress | None) -> None:
        """Take word of one upstream subtask; None: all have ended."""
        if progress is None:
            self._ended.update(self._watermarks)
        else:
            self.update(progress)

    @property
    def ended(self) -> bool:
        """Return whether no more records will come."""
        return len(self._ended) == len(self._watermarks)

    @property
    def watermark(self) -> int:
        """Return the watermark of the input by itself: that of the slowest subtask."""
        return combined_watermark([self], MIN_WATERMARK)[0]

    def only(self) -> int | None:
        """Return the watermark of the only upstream subtask; None if there are others, or it is idle or has ended."""
        if len(self._watermarks) != 1 or self._idle or self._ended:
            return None
        (watermark,) = self._watermarks.values()
        return watermark

    def running(self) -> Iterator[tuple[int, bool]]:
        """Return watermark and idleness of the upstream subtasks that have not ended."""
        for producer, watermark in self._watermarks.items():
            if producer not in self._ended:
                yield watermark, producer in self._idle


def combined_watermark(inputs: Sequence[InputProgress], reached: int) -> tuple[int, bool]:
    """Return the watermark of an operator, and whether it is idle because all its inputs are.

    The slowest upstream subtask counts, except those that are idle. One that is not idle any more and is behind does
    not count until it has caught up. When all are idle nothing is waited for: the fastest counts.

    Args:
        inputs: All inputs of the operator.
        reached: The watermark that it has reached.
    """
    if len(inputs) == 1 and (only := inputs[0].only()) is not None:
        return max(only, reached), False
    running = [channel for progress in inputs for channel in progress.running()]
    if not running:
        return MAX_WATERMARK, False
    active = [watermark for watermark, idle in running if not idle]
    if not active:
        return max(watermark for watermark, _ in running), True
    return min((watermark for watermark in active if watermark >= reached), default=reached), False
