"""Few records of united or connected streams, held until all of a level are there, then given out in PyFlink's order.

Nothing is promised about the order in which records of several streams arrive. But with few records, as tests have,
one order is the most likely on Flink: what comes straight from a source is there before what has to go through
functions, and of two connected streams that are there, Flink reads one record each in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rekindle.graph.job_graph import JobEdge, JobGraph
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Progress

Arrived = tuple[JobEdge, Chunk | Progress]
"""What came, and over which edge."""

_FEW = 256  # more records than that are not held: they need not wait, and to alternate costs a call for each


@dataclass(frozen=True, slots=True)
class Arrival:
    """Tell in which order the inputs of an operator arrive.

    Attributes:
        ranks: The lower of an input, by its index, the earlier; those of one rank come as they come.
        in_turn: Whether the records of both sides come in turn instead.
    """

    ranks: tuple[int, ...]
    in_turn: bool = False


def arrival(graph: JobGraph, node: int) -> Arrival | None:
    """Tell in which order the inputs of an operator arrive; None if there is nothing to order."""
    inputs = graph.inputs(node)
    sources = {n.id for n in graph.nodes if not graph.inputs(n.id)}
    if not any(edge.side for edge in inputs):
        straight = [edge.source in sources for edge in inputs]
        return Arrival(tuple(not s for s in straight)) if len(set(straight)) > 1 else None
    first, second = (
        all(edge.source in sources and edge.partitioner.key_selector is None for edge in inputs if edge.side == side)
        for side in (0, 1)
    )
    early = 1 if second and not first else 0
    return Arrival(tuple(edge.side != early for edge in inputs), in_turn=first and second)


class OrderedInputs:
    """Hold the records of an operator with several inputs, and the word of progress between them."""

    __slots__ = ("_arrival", "_count", "_passing", "_waiting")

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._clear(passing=False)

    def add(self, edge: JobEdge, item: Chunk | Progress) -> Iterable[Arrived]:
        """Take what came over an edge; give what shall not wait."""
        if self._passing:
            return [(edge, item)]
        self._waiting.append((edge, item))
        if isinstance(item, Chunk):
            self._count += item.size()
        if self._count <= _FEW:
            return ()
        waiting = self._waiting
        self._clear(passing=True)
        return waiting

    def release(self) -> Iterable[Arrived]:
        """Return all that is held: the level has no more."""
        waiting = self._waiting
        self._clear(passing=False)
        if self._arrival.in_turn and len({edge.side for edge, item in waiting if isinstance(item, Chunk)}) > 1:
            return _alternating(*([held for held in waiting if held[0].side == side] for side in (0, 1)))
        return sorted(waiting, key=lambda held: self._arrival.ranks[held[0].input])

    def _clear(self, passing: bool) -> None:
        self._waiting: list[Arrived] = []
        self._count = 0
        self._passing = passing


def _alternating(first: list[Arrived], second: list[Arrived]) -> Iterator[Arrived]:
    """Return one record of each side in turn, and with it the progress that follows it."""
    sides = [deque(_one_by_one(first)), deque(_one_by_one(second))]
    while any(sides):
        for side in sides:
            if side:
                yield side.popleft()
            while side and isinstance(side[0][1], Progress):
                yield side.popleft()


def _one_by_one(held: list[Arrived]) -> Iterator[Arrived]:
    for edge, item in held:
        if isinstance(item, Progress):
            yield edge, item
            continue
        for index, value in enumerate(item.values):
            yield (
                edge,
                Chunk(
                    [value],
                    None if item.timestamps is None else [item.timestamps[index]],
                    None if item.keys is None else [item.keys[index]],
                ),
            )
