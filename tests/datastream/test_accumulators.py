"""Accumulators: what functions count, merged over all subtasks when the job has finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies, Types
from rekindle.common.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
)
from rekindle.datastream import MapFunction, RuntimeContext
from rekindle.exceptions import InvalidCallError, InvalidProgramError, JobExecutionError
from rekindle.testing import local_environment

NUMBERS = list(range(1, 41))


class Count(MapFunction):
    """Count records by an accumulator of the given class, and by the context's own counters."""

    def __init__(self, make: Callable[[], Accumulator[Any, Any]], name: str = "numbers") -> None:
        self._make = make
        self._name = name

    def open(self, runtime_context: RuntimeContext) -> None:
        self.accumulator = self._make()
        runtime_context.add_accumulator(self._name, self.accumulator)
        assert runtime_context.get_accumulator(self._name) is self.accumulator
        assert runtime_context.get_accumulator("another") is None
        self.records = runtime_context.get_int_counter("records")
        assert runtime_context.get_int_counter("records") is self.records

    def map(self, value: Any) -> Any:
        self.accumulator.add(value)
        self.records.add(1)
        return value


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize(
    ("make", "result"),
    [
        (IntCounter, sum(NUMBERS)),
        (LongCounter, sum(NUMBERS)),
        (DoubleCounter, float(sum(NUMBERS))),
        (IntMaximum, 40),
        (IntMinimum, 1),
        (LongMaximum, 40),
        (LongMinimum, 1),
        (DoubleMaximum, 40),
        (DoubleMinimum, 1),
        (AverageAccumulator, 20.5),
        (Histogram, dict.fromkeys(NUMBERS, 1)),
    ],
)
def test_the_result_is_that_of_all_subtasks(
    make: Callable[[], Any], result: Any, parallelism: int, checkpoints: bool, tmp_path: Path
) -> None:
    env = local_environment(parallelism=parallelism)
    if checkpoints:
        env.enable_checkpointing(20)
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path))
    env.from_collection(NUMBERS, Types.LONG()).rebalance().map(Count(make)).print()
    found = env.execute()
    assert found.get_accumulator_result("numbers") == result
    assert found.get_accumulator_result("records") == len(NUMBERS)
    assert found.get_accumulator_result("another") is None
    assert set(found.get_all_accumulator_results()) == {"numbers", "records"}


def test_operators_share_a_name() -> None:
    env = local_environment(parallelism=2)
    env.from_collection(NUMBERS, Types.LONG()).map(Count(ListAccumulator)).map(Count(ListAccumulator)).print()
    client = env.execute_async()
    assert sorted(client.get_job_execution_result().result().get_accumulator_result("numbers")) == sorted(NUMBERS * 2)
    assert client.get_accumulators().result()["records"] == 2 * len(NUMBERS)


def test_a_name_of_two_classes_is_an_error_of_who_asks_for_it() -> None:
    env = local_environment(parallelism=1)
    env.from_collection([1], Types.LONG()).map(Count(IntCounter)).map(Count(Histogram)).print()
    result = env.execute()
    with pytest.raises(InvalidProgramError, match="'numbers' is a IntCounter in one operator and a Histogram"):
        result.get_accumulator_result("numbers")


class Twice(MapFunction):
    def __init__(self, given: Any) -> None:
        self._given = given

    def open(self, runtime_context: RuntimeContext) -> None:
        for each in self._given:
            runtime_context.add_accumulator("one", each)

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("given", "words"),
    [((IntCounter(), IntCounter()), "has an accumulator 'one' already"), ((3,), "takes an instance of Accumulator")],
)
def test_what_cannot_be_added_is_refused(given: Any, words: str) -> None:
    env = local_environment(parallelism=1)
    env.from_collection([1], Types.LONG()).map(Twice(given)).print()
    with pytest.raises(JobExecutionError, match=words):
        env.execute()


FAILED: list[bool] = []


class FailOnce(MapFunction):
    """Count all records, and fail at one of them, once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.records = runtime_context.get_long_counter("records")

    def map(self, value: int) -> int:
        self.records.add(1)
        if value == 30 and not FAILED:
            FAILED.append(True)
            raise RuntimeError("once")
        return value


def test_after_a_failure_the_last_attempt_counts() -> None:
    FAILED.clear()
    env = local_environment(parallelism=1)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1))
    env.from_collection(NUMBERS, Types.LONG()).map(FailOnce()).print()
    assert env.execute().get_accumulator_result("records") == len(NUMBERS)
    assert FAILED


def test_every_accumulator_is_reset_and_cloned() -> None:
    for kind in (IntCounter, DoubleCounter, IntMaximum, DoubleMinimum, AverageAccumulator, Histogram, ListAccumulator):
        fresh, used = kind(), kind()
        used.add(7)
        clone = used.clone()
        used.reset_local()
        assert used.get_local_value() == fresh.get_local_value()
        assert clone.get_local_value() != fresh.get_local_value()


def test_a_counter_of_another_class_is_refused() -> None:
    from rekindle.runtime.accumulated import SlotAccumulators

    accumulators = SlotAccumulators()
    accumulators.get_or_add("uid", "Map", "n", IntCounter)
    with pytest.raises(InvalidCallError, match="is a IntCounter, not a Histogram"):
        accumulators.get_or_add("uid", "Map", "n", Histogram)
