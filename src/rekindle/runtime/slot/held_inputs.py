"""Few records of united or connected streams, held until all of a level are there, then given out in PyFlink's order.

Nothing is promised about the order in which records of several streams arrive. Yet a program with few records, as tests
have, should print on Spark what it prints on Flink, and there one order is the most likely: what comes straight from a
source is there before what has to go through functions, and of two connected streams that are there, Flink reads one
record each in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rekindle.graph.job_graph import JobEdge, JobGraph
from rekindle.runtime.operators.chunk import Chunk

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


class HeldInputs:
    """Hold the records of an operator with several inputs."""

    __slots__ = ("_arrival", "_count", "_passing", "_waiting")

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._clear(passing=False)

    def add(self, edge: JobEdge, chunk: Chunk) -> Iterable[tuple[int, Chunk]]:
        """Take records of an input; give those that shall not wait, with the side that they belong to."""
        if self._passing:
            return [(edge.side, chunk)]
        self._waiting.append((self._arrival.ranks[edge.input], edge.side, chunk))
        self._count += len(chunk.values)
        if self._count <= _FEW:
            return ()
        waiting = self._waiting
        self._clear(passing=True)
        return [(side, chunk) for _, side, chunk in waiting]

    def release(self) -> Iterable[tuple[int, Chunk]]:
        """Give all that is held, with their sides: the level has no more."""
        waiting = self._waiting
        self._clear(passing=False)
        if self._arrival.in_turn and len({side for _, side, _ in waiting}) > 1:
            return _alternating(*([chunk for _, side, chunk in waiting if side == wanted] for wanted in (0, 1)))
        return [(side, chunk) for _, side, chunk in sorted(waiting, key=lambda held: held[0])]

    def _clear(self, passing: bool) -> None:
        self._waiting: list[tuple[int, int, Chunk]] = []
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
