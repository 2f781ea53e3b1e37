"""Chunks are processed in portions: what they lead to fits into memory, and other work gets its turn in between.

One record may become many, or large, and all that operators emit for a portion is in memory until it is sent. A
function may also take long for each record: watermarks, timers, orders and queries wait until a portion is done. How
much there is of both, the portions before tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import Partitioning
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.sizes import RecordLimit, portion_limit
from rekindle.runtime.slot.task_output import TaskOutput

_A_HANDFUL = 16  # where streams part and meet again: these pass as one, in the order of PyFlink's bundles


def first_portion(graph: JobGraph, node: int) -> int:
    """Return with how many records to begin where an operator passes them on in its slot, as nothing is known yet.

    One, so that a slow function does not keep others waiting. If the operator's records reach another one in several
    ways, though, that one would get the first record by each of them, then the second, and so on.
    """
    found, waiting = {node}, [node]
    while waiting:
        for edge in graph.outputs(waiting.pop()):
            if edge.partitioner.kind is not Partitioning.FORWARD:  # in Flink an exchange, whose order is anybody's
                continue
            if edge.target in found:
                return _A_HANDFUL
            found.add(edge.target)
            waiting.append(edge.target)
    return 1


class TimeLimit:
    """Learn how many records to process at once, so that it takes no longer than wanted.

    Attributes:
        records: How many. It doubles as long as time allows.

    Args:
        seconds: How long is wanted.
        records: How many to begin with.
    """

    __slots__ = ("_seconds", "records")

    def __init__(self, seconds: float, records: int = 1) -> None:
        self.records = records
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
        graph: The job.
    """

    def __init__(self, seconds: float, worked: Callable[[], float], graph: JobGraph) -> None:
        self._seconds = seconds
        self._worked = worked
        self._graph = graph
        self._limits: dict[int, tuple[RecordLimit, TimeLimit]] = {}

    def of(self, place: int, chunk: Chunk, output: TaskOutput) -> Iterator[Chunk]:
        """Cut up a chunk; between two portions, what the first one has led to is learned from ``output``.

        Args:
            place: Where the chunk enters: an edge by its number, a source by the inverse of its.
            chunk: The records.
            output: What gathers all that is emitted.
        """
        by_size, by_time = self._limits.get(place) or self._begun(place)
        start = 0
        while start < chunk.size():
            portion = chunk.cut(start, start + min(by_size.records, by_time.records))
            start += portion.size()
            output.produced = 0
            yield portion
            by_size.learn(portion.size(), output.produced)
            by_time.learn(portion.size(), self._worked())

    def _begun(self, place: int) -> tuple[RecordLimit, TimeLimit]:
        node = self._graph.edges[place].target if place >= 0 else ~place
        limits = self._limits[place] = portion_limit(), TimeLimit(self._seconds, first_portion(self._graph, node))
        return limits
