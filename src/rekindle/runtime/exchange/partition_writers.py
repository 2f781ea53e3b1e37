"""Writers of exchanges without a key: at random, as the program says, to all targets, to the first."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobEdge
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.edge_serializers import UNTYPED, EdgeSerializers
from rekindle.runtime.exchange.writers import Envelope, ExchangeWriter


class ShuffleWriter(ExchangeWriter):
    """Send each record to a target chosen at random."""

    def write(self, chunk: Chunk) -> list[Envelope]:
        return self._deal(chunk, np.array(random.choices(range(self._parallelism), k=len(chunk.values)), np.int64))


class CustomWriter(ExchangeWriter):
    """Send each record where the partitioner of the program says."""

    def __init__(self, edge: JobEdge, parallelism: int, name: str, serializers: EdgeSerializers = UNTYPED) -> None:
        super().__init__(edge, parallelism, serializers)
        self._name = name

    def write(self, chunk: Chunk) -> list[Envelope]:
        targets = chosen_targets(self._edge, self._name, chunk.values, self._parallelism)
        return self._deal(chunk, np.array(targets, np.int64))


class BroadcastWriter(ExchangeWriter):
    """Send each record to every target; it is encoded once."""

    def __init__(self, edge: JobEdge, parallelism: int, serializers: EdgeSerializers = UNTYPED) -> None:
        super().__init__(edge, 1, serializers)
        self._copies = parallelism

    def write(self, chunk: Chunk) -> list[Envelope]:
        return self._for_all(self._add(0, _own(chunk)))

    def flush(self) -> list[Envelope]:
        return self._for_all(self._take(0))

    def _for_all(self, envelopes: list[Envelope]) -> list[Envelope]:
        return [(edge, target, payload) for edge, _, payload in envelopes for target in range(self._copies)]


class GlobalWriter(ExchangeWriter):
    """Send all records to the first target."""

    def write(self, chunk: Chunk) -> list[Envelope]:
        return self._add(0, _own(chunk))


@at_record(remaining="remaining")
def chosen_targets(edge: JobEdge, name: str, values: list[Any], parallelism: int) -> list[int]:
    """Ask the partitioner of ``partition_custom`` where records go."""
    selector, choose = edge.partitioner.key_selector, edge.partitioner.choose
    assert selector is not None
    assert choose is not None
    remaining = iter(values)
    try:
        targets = [choose(selector(value), parallelism) for value in remaining]
    except BaseException as error:
        error.add_note(f"raised by the partitioner or key selector of partition_custom, before operator {name!r}")
        raise
    if not set(targets) <= set(range(parallelism)):
        wrong = next(target for target in targets if target not in range(parallelism))
        raise InvalidProgramError(
            f"the partitioner of partition_custom before operator {name!r} returned {wrong!r}: it must return a number "
            f"from 0 to {parallelism - 1}, as the operator has {parallelism} subtasks"
        )
    return targets


def _own(chunk: Chunk) -> Chunk:
    """Return a chunk with a list of its own to append to; the one that an operator emitted must not change."""
    return Chunk(list(chunk.values), None if chunk.timestamps is None else list(chunk.timestamps))
