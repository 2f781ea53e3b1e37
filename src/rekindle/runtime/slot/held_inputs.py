"""Few records of two connected streams, held until all of a level are there, and then given out in PyFlink's order.

Nothing is promised about the order in which records of two streams arrive. Yet programs with few records are compared
with what PyFlink prints, and there one order is the most likely: what comes straight from a source is there before
what has to go through functions, and of two streams that are there, Flink reads one record each in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.operators.chunk import Chunk

_FEW = 256  # more records than that are not held: they need not wait, and to alternate costs a call for each


class Arrival(Enum):
    """Tell which of two connected streams arrives first."""

    FIRST = "first"
    SECOND = "second"
    ALTERNATING = "alternating"


def arrival(graph: JobGraph, node: int) -> Arrival | None:
    """Tell in which order the inputs of an operator arrive; None if it has only one."""
    inputs = graph.inputs(node)
    if not any(edge.side for edge in inputs):
        return None
    sources = {n.id for n in graph.nodes if not graph.inputs(n.id)}
    straight = [
        all(edge.source in sources and edge.partitioner.key_selector is None for edge in inputs if edge.side == side)
        for side in (0, 1)
    ]
    if all(straight):
        return Arrival.ALTERNATING
    return Arrival.SECOND if straight[1] else Arrival.FIRST


class HeldInputs:
    """Hold the records of an operator with two inputs."""

    __slots__ = ("_arrival", "_chunks", "_count", "_passing")

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._clear(passing=False)

    def add(self, side: int, chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        """Take records of an input; give those that shall not wait, with their input."""
        if not self._passing:
            self._chunks.append((side, chunk))
            self._count += len(chunk.values)
            if self._count <= _FEW:
                return
            waiting = self._chunks
            self._clear(passing=True)
            yield from waiting
        else:
            yield side, chunk

    def release(self) -> Iterator[tuple[int, Chunk]]:
        """Give all that is held, with their inputs: the level has no more."""
        waiting = self._chunks
        self._clear(passing=False)
        first, second = ([chunk for side, chunk in waiting if side == wanted] for wanted in (0, 1))
        if self._arrival is Arrival.ALTERNATING and first and second:
            yield from _alternating(first, second)
            return
        ordered = sorted(waiting, key=lambda part: part[0], reverse=self._arrival is Arrival.SECOND)
        yield from ordered

    def _clear(self, passing: bool) -> None:
        self._chunks: list[tuple[int, Chunk]] = []
        self._count = 0
        self._passing = passing


def _alternating(first: list[Chunk], second: list[Chunk]) -> Iterator[tuple[int, Chunk]]:
    sides = [(0, _one_by_one(first)), (1, _one_by_one(second))]
    while sides:
        for turn in list(sides):
            side, records = turn
            record = next(records, None)
            if record is None:
                sides.remove(turn)
            else:
                yield side, record


def _one_by_one(chunks: list[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        for index, value in enumerate(chunk.values):
            yield Chunk(
                [value],
                None if chunk.timestamps is None else [chunk.timestamps[index]],
                None if chunk.keys is None else [chunk.keys[index]],
            )
