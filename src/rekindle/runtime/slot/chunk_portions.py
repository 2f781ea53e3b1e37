"""Chunks are processed in portions: what they lead to fits into memory, and other work gets its turn in between.

One record may become many, or large, and all that operators emit for a portion is in memory until it is sent. A
function may also take long for each record: watermarks, timers, orders and queries wait until a portion is done. How
much there is of both, the portions before tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.sizes import RecordLimit, portion_limit
from rekindle.runtime.slot.task_output import TaskOutput

_FIRST_RECORDS = 16  # a handful passes as one, so that what follows in a slot sees it in the order of PyFlink's bundles


class TimeLimit:
    """Learn how many records to process at once, so that it takes no longer than wanted.

    Attributes:
        records: How many. It begins with a few, and doubles as long as time allows.
    """

    __slots__ = ("_seconds", "records")

    def __init__(self, seconds: float) -> None:
        self.records = _FIRST_RECORDS
        self._seconds = seconds

    def learn(self, records: int, seconds: float) -> None:
        """Take in that so many records took so long."""
        if seconds > self._seconds:
            self.records = max(1, int(records * self._seconds / seconds))
        elif records >= self.records and 2 * seconds <= self._seconds:
            self.records = 2 * records


class Portions:
    """Learn for each place at which records enter a slot how many of them to process at once.

    Args:
        seconds: How long a portion should take at most.
        worked: Tells how long the last portion took.
    """

    def __init__(self, seconds: float, worked: Callable[[], float]) -> None:
        self._seconds = seconds
        self._worked = worked
        self._limits: dict[int, tuple[RecordLimit, TimeLimit]] = {}

    def of(self, place: int, chunk: Chunk, output: TaskOutput) -> Iterator[Chunk]:
        """Cut up a chunk; between two portions, what the first one has led to is learned from ``output``.

        Args:
            place: Where the chunk enters: an edge by its number, a source by the inverse of its.
            chunk: The records.
            output: What gathers all that is emitted.
        """
        limits = self._limits.get(place)
        if limits is None:
            limits = self._limits[place] = portion_limit(), TimeLimit(self._seconds)
        by_size, by_time = limits
        start = 0
        while start < chunk.size():
            portion = chunk.cut(start, start + min(by_size.records, by_time.records))
            start += portion.size()
            output.produced = 0
            yield portion
            by_size.learn(portion.size(), output.produced)
            by_time.learn(portion.size(), self._worked())
