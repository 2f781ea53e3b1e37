"""Rescaling 1→2→4→3→1: the state of each key, of every primitive, and its timers arrive once, at the right subtask."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.restoring import Consent, fit_to_checkpoint
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import WatermarkStrategy
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import AggregateFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import StateRestoreError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.key_hash import key_group_of
from rekindle.state.rocksdb.settings import RocksDBSettings
from support.in_process_job import InProcessJob, collect

STEPS = (1, 2, 4, 3, 1)
KEYS = 50
PER_STEP = 400
STATES = ("value", "list", "map", "reducing", "aggregating", "folding")
SETTINGS = {
    "heap": BackendSettings(),
    "heap, incremental": BackendSettings(incremental=True),
    "RocksDB": BackendSettings(RocksDBSettings()),
    "RocksDB, incremental": BackendSettings(RocksDBSettings(), incremental=True),
    "RocksDB, no cache": BackendSettings(RocksDBSettings(cache_entries=0), incremental=True),
}


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class EveryPrimitive(KeyedProcessFunction):
    """Keep each number in every kind of state; a timer at the end gives all of it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            folding = FoldingStateDescriptor("folding", 0, lambda accumulator, value: accumulator * 3 + value)
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.reducing = runtime_context.get_reducing_state(ReducingStateDescriptor("reducing", max))
        self.aggregating = runtime_context.get_aggregating_state(AggregatingStateDescriptor("aggregating", Sum()))
        self.folding = runtime_context.get_folding_state(folding)
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.value.update(value)
        self.list.add(value)
        self.map.put(value % 7, value)
        for state in (self.reducing, self.aggregating, self.folding):
            state.add(value)
        ctx.timer_service().register_event_time_timer(1_000)
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        contents = (
            self.value.value(),
            list(self.list),
            dict(self.map.items()),
            self.reducing.get(),
            self.aggregating.get(),
            self.folding.get(),
        )
        yield ctx.get_current_key(), self.subtask, contents


def program() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(1, PER_STEP * len(STEPS))
    stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    collect(stream.key_by(lambda number: f"key {number % KEYS}").process(EveryPrimitive()).uid("every"))
    return environment


def golden() -> dict[str, Any]:
    """Compute what the job holds in the end, number by number. The source splits its range, so order may differ."""
    found: dict[str, Any] = {}
    for key in range(KEYS):
        numbers = [n for n in range(1, PER_STEP * len(STEPS) + 1) if n % KEYS == key]
        found[f"key {key}"] = (sorted(numbers), max(numbers), sum(numbers), {n % 7 for n in numbers})
    return found


def held_keys(job: InProcessJob, state: str) -> dict[int, list[Any]]:
    return {
        slot.index: sorted(running.operator.backend.keys(state))
        for slot in job.slots
        for running in slot._graph
        if isinstance(running.operator, KeyedOperator)
    }


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_each_keys_state_arrives_once_at_the_right_subtask(tmp_path: Path, settings: BackendSettings) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    stored = None
    for number, parallelism in enumerate(STEPS):
        with InProcessJob(
            program(), parallelism, files=files, restore=stored, own=True, backend=settings, attempt=number
        ) as job:
            if stored is not None:
                for state in STATES:
                    held = held_keys(job, state)
                    assert Counter(key for keys in held.values() for key in keys) == Counter(golden().keys())
                    for subtask, keys in held.items():
                        assert {subtask_of_key_group(key_group_of(k, 128), parallelism, 128) for k in keys} <= {subtask}
            if number < len(STEPS) - 1:
                job.run_epoch(max_records=PER_STEP // parallelism)
                stored = job.checkpoint()
            else:
                job.run_to_end()
                collected = job.collected
    assert len(collected) == KEYS
    for key, _, (value, elements, entries, largest, total, _) in collected:
        numbers, highest, added, residues = golden()[key]
        assert sorted(elements) == numbers
        assert (largest, total, set(entries)) == (highest, added, residues)
        assert value == elements[-1]


def test_more_subtasks_than_key_groups_raises_naming_both_numbers(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(), 1, files=files) as job:
        job.run_epoch()
        stored = job.checkpoint()
    graph = compile_job(program()._graph, 129, None)
    with pytest.raises(StateRestoreError, match=r"parallelism 129, .* max parallelism 128"):
        fit_to_checkpoint(graph, stored.metadata, Consent())
