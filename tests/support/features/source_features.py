"""Sources that live in the slots, and iterations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import DataStream, MapFunction, RuntimeContext
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.datastream.functions import CheckpointedFunction, RichParallelSourceFunction
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from support.features.feature import Feature

PARTS = 6
PART = 200
GENERATED = 1_000
ITEMS = 30
ROUNDS = 12


class CountInParts(RichParallelSourceFunction, CheckpointedFunction):
    """Count within several ranges, dealt out to the subtasks: each a list element with what is left of it."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, int]] = []
        self.running = True

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("parts", Types.PICKLED_BYTE_ARRAY()))
        if context.is_restored():
            self.parts = list(self.state.get())
        else:
            runtime = self.get_runtime_context()
            subtask, subtasks = runtime.get_index_of_this_subtask(), runtime.get_number_of_parallel_subtasks()
            self.parts = [(PART * part, PART * (part + 1)) for part in range(subtask, PARTS, subtasks)]

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.parts)

    def run(self, ctx: Any) -> None:
        while self.running and self.parts:
            with ctx.get_checkpoint_lock():
                first, last = self.parts.pop()
                if first + 1 < last:
                    self.parts.append((first + 1, last))
                ctx.collect(first)

    def cancel(self) -> None:
        self.running = False


def function_source(events: DataStream) -> DataStream:
    return events.get_execution_environment().add_source(CountInParts(), "parts", Types.LONG())


def generator(events: DataStream) -> DataStream:
    source = DataGeneratorSource(lambda n: n * n, GENERATED)
    env = events.get_execution_environment()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "squares").uid("squares")


class AddRounds(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def map(self, value: tuple[int, int]) -> tuple[int, int]:
        self.sum.update((self.sum.value() or 0) + self.context.get_superstep_number())
        return value[0], self.sum.value()


def step(item: tuple[int, int, int]) -> tuple[int, int, int]:
    start, number, steps = item
    return start, number // 2 if number % 2 == 0 else 3 * number + 1, steps + 1


def some_steps(item: tuple[int, int, int]) -> tuple[int, int, int]:
    """Take so many steps that few turns are left to take."""
    for _ in range(25):
        if item[1] != 1:
            item = step(item)
    return item


def collatz(events: DataStream) -> DataStream:
    """Count how many steps each number takes to 1, going round a loop that has an exchange in it."""
    loop = events.filter(lambda n: n % 100 == 2).map(lambda n: (n, n, 0)).iterate()
    stepped = loop.rebalance().map(some_steps)
    loop.close_with(stepped.filter(lambda item: item[1] != 1))
    return stepped.filter(lambda item: item[1] == 1).map(lambda item: (item[0], item[2]))


def steps(count: int) -> Iterator[Any]:
    for n in range(2, count, 100):
        item = (n, n, 0)
        while item[1] != 1:
            item = step(item)
        yield n, item[2]


def in_rounds(events: DataStream) -> DataStream:
    """Add to each number of a small collection, in rounds, the number of the round, summed up in state per key."""
    numbers = events.get_execution_environment().from_collection(list(range(ITEMS)))
    loop = numbers.map(lambda n: (n, 0)).iterate(max_iterations=ROUNDS)
    loop.uid("rounds")
    return loop.close_with(loop.key_by(lambda item: item[0]).map(AddRounds()))


SOURCES = [
    Feature("source functions", function_source, lambda count: range(PARTS * PART)),
    Feature("generated records", generator, lambda count: [n * n for n in range(GENERATED)]),
    Feature("iterations", collatz, steps),
    Feature("iterations in rounds", in_rounds, lambda count: [(n, ROUNDS * (ROUNDS + 1) // 2) for n in range(ITEMS)]),
]
