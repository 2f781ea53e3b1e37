"""Streams without keys: ways of partitioning, operator state, collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rekindle.common import Types
from rekindle.datastream import DataStream, FlatMapFunction, MapFunction
from rekindle.datastream.functions import CheckpointedFunction, ListCheckpointed
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor
from support.features.feature import Feature


class Buffering(FlatMapFunction, CheckpointedFunction):
    """Let numbers go ten at a time; those that wait are operator state, which is dealt out anew on a rescale."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.stored = store.get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self.all_marks = store.get_union_list_state(ListStateDescriptor("marks", Types.LONG()))
        self.waiting = list(self.stored.get())
        self.marks = sorted(set(self.all_marks.get()))

    def snapshot_state(self, context: Any) -> None:
        self.stored.update(self.waiting)
        self.all_marks.update(self.marks)

    def flat_map(self, value: int) -> Iterator[int]:
        if value % 100 == 0:
            self.marks.append(value)
        self.waiting.append(value)
        if len(self.waiting) >= 10:
            waiting, self.waiting = self.waiting, []
            yield from waiting


class Counting(MapFunction, ListCheckpointed):
    """Count the records of a subtask; the counts of all subtasks together are what was counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
        return [self.count]

    def restore_state(self, state: list[int]) -> None:
        self.count = sum(state)

    def map(self, value: int) -> tuple[str, int]:
        self.count += 1
        return self.name, value


class CountInEveryCopy(FlatMapFunction, CheckpointedFunction):
    """Count all events in every subtask, in a map of which each has a copy; tell of it now and then."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.counts = store.get_broadcast_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def flat_map(self, value: int) -> Iterator[Any]:
        self.counts.put(value % 10, (self.counts.get(value % 10) or 0) + 1)
        if value % 10 == 9:
            yield value, sum(count for _, count in self.counts.items())


def at_most_the_rest_is_missing(results: list[int], count: int) -> Iterable[int]:
    """Add the few that may still wait in the buffers at the end, nine in each of up to three subtasks."""
    missing = sorted(set(range(count)) - set(results))
    assert len(missing) <= 27, f"{len(missing)} numbers were lost: {missing[:20]}"
    return [*results, *missing]


def partitioned(events: DataStream) -> DataStream:
    """Send all events in every way there is, each of them to a counting function."""
    ways = {
        "rebalance": events.rebalance(),
        "rescale": events.rescale(),
        "shuffle": events.shuffle(),
        "global": events.global_(),
        "custom": events.partition_custom(lambda key, targets: key % targets, lambda n: n),
    }
    first, *others = (way.map(Counting(name)).forward().filter(lambda _: True) for name, way in ways.items())
    return first.union(*others)


def projected(events: DataStream) -> DataStream:
    fields = Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()])
    return events.map(lambda n: (n, str(n), -n), fields).project(2, 0).rebalance().map(lambda pair: pair)


def collected(events: DataStream) -> DataStream:
    env = events.get_execution_environment()
    return env.from_collection([("of a collection", n) for n in range(500)]).union(events.map(lambda n: ("event", n)))


STREAMS = [
    Feature(
        "operator state",
        lambda events: events.rebalance().flat_map(Buffering()),
        range,
        at_most_the_rest_is_missing,
    ),
    Feature(
        "broadcast maps in operator state",
        lambda events: events.broadcast().flat_map(CountInEveryCopy()),
        lambda count: [(n, n + 1) for n in range(9, count, 10)],
        lambda results, count: set(results),  # one from each subtask, all of them the same
    ),
    Feature("projections", projected, lambda count: [(-n, n) for n in range(count)]),
    Feature(
        "partitioning",
        partitioned,
        lambda count: [
            (way, n) for way in ("rebalance", "rescale", "shuffle", "global", "custom") for n in range(count)
        ],
    ),
    Feature(
        "collections and union",
        collected,
        lambda count: [("of a collection", n) for n in range(500)] + [("event", n) for n in range(count)],
    ),
]
