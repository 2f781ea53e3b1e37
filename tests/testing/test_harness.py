"""The test doubles that Rekindle gives to its users: the operator harness and the manual clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import rekindle.testing
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import OperatorStateOwner
from rekindle.state.key_hash import key_group_of
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.testing import ManualClock, OperatorHarness


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[Any, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class Double(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Twice(FlatMapFunction):
    def flat_map(self, value: int) -> list[int]:
        return [value, value]


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Sum(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Now(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[int]:
        yield ctx.timer_service().current_processing_time()


class Lists(OperatorStateOwner):
    """Keep the records as operator state."""

    mode = DistributionMode.SPLIT

    def open(self, context: OperatorContext) -> None:
        self.items = [msgspec.msgpack.decode(item) for item in context.restored.items("items")]

    def process(self, chunk: Chunk) -> None:
        self.items += chunk.values

    def snapshot_lists(self) -> dict[str, StoredList]:
        return {"items": StoredList.of(self.mode, map(msgspec.msgpack.encode, self.items))}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        raise AssertionError("a harness writes nothing")


class WholeLists(Lists):
    mode = DistributionMode.UNION


def items(harness: OperatorHarness) -> list[Any]:
    assert isinstance(harness.operator, Lists)
    return harness.operator.items


def user(name: str) -> str:
    return name


def test_a_keyed_function_runs_with_its_state() -> None:
    harness = OperatorHarness.keyed(CountPerKey(), user)
    assert harness.process("ada", "bob", "ada") == [("ada", 1), ("bob", 1), ("ada", 2)]
    assert harness.process("ada") == [("ada", 3)]
    assert len(harness.output) == 4


@pytest.mark.parametrize(
    ("function", "result"),
    [(Double(), [2, 4, 6]), (Twice(), [1, 1, 2, 2, 3, 3]), (Even(), [2]), (Sum(), [1, 3, 6])],
    ids=lambda value: type(value).__name__,
)
def test_every_function_of_a_keyed_stream_can_be_run(function: Any, result: list[int]) -> None:
    assert OperatorHarness.keyed(function, lambda value: "all").process(1, 2, 3) == result


@pytest.mark.parametrize(
    ("function", "result"),
    [(Double(), [2, 4]), (Twice(), [1, 1, 2, 2]), (Even(), [2]), (Now(), [77, 77])],
    ids=lambda value: type(value).__name__,
)
def test_every_function_of_a_stream_without_a_key_can_be_run(function: Any, result: list[int]) -> None:
    assert OperatorHarness.unkeyed(function, clock=ManualClock(77)).process(1, 2) == result


def test_a_function_of_the_other_kind_of_stream_is_refused() -> None:
    with pytest.raises(TypeError, match="Now is not a function of a keyed stream"):
        OperatorHarness.keyed(Now(), user)
    with pytest.raises(TypeError, match="CountPerKey is not a function of a stream without a key"):
        OperatorHarness.unkeyed(CountPerKey())


def test_a_snapshot_is_restored_at_any_parallelism_each_key_in_its_subtask() -> None:
    names = [f"user-{number}" for number in range(40)]
    before = OperatorHarness.keyed(CountPerKey(), user)
    before.process(*names)
    seen = []
    for subtask in range(3):
        own = key_group_range(subtask, 3, 128)
        after = OperatorHarness.keyed(CountPerKey(), user, subtask=subtask, parallelism=3, restored=[before.snapshot()])
        seen += after.process(*(name for name in names if key_group_of(name, 128) in own))
        foreign = next(name for name in names if key_group_of(name, 128) not in own)
        assert after.process(foreign) == [(foreign, 1)], "state of other subtasks is not there"
    assert sorted(seen) == sorted((name, 2) for name in names)


def test_operator_state_is_dealt_out_as_in_a_job() -> None:
    old = [OperatorHarness(Lists(), subtask=i, parallelism=2) for i in range(2)]
    old[0].process(1, 2, 3)
    old[1].process(4, 5)
    snapshots = [harness.snapshot() for harness in old]
    same = [OperatorHarness(Lists(), subtask=i, parallelism=2, restored=snapshots) for i in range(2)]
    assert [items(harness) for harness in same] == [[1, 2, 3], [4, 5]]
    more = [OperatorHarness(Lists(), subtask=i, parallelism=3, restored=snapshots) for i in range(3)]
    assert [items(harness) for harness in more] == [[1, 2], [3, 4], [5]]
    whole = [OperatorHarness(WholeLists(), subtask=i, parallelism=2) for i in range(2)]
    whole[0].process(1, 2)
    whole[1].process(3)
    snapshots = [harness.snapshot() for harness in whole]
    assert items(OperatorHarness(WholeLists(), subtask=2, parallelism=3, restored=snapshots)) == [1, 2, 3]


def test_the_function_is_told_where_it_runs() -> None:
    function = CountPerKey()
    OperatorHarness.keyed(
        function,
        user,
        name="the counter",
        subtask=1,
        parallelism=2,
        max_parallelism=64,
        attempt=3,
        job_parameters={"a": "b"},
    )
    context = function.context
    assert context.get_task_name_with_subtasks() == "the counter (2/2)#3"
    assert (context.get_max_number_of_parallel_subtasks(), context.get_attempt_number()) == (64, 3)
    assert context.get_job_parameter("a", "") == "b"


def test_a_parallelism_above_the_max_parallelism_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="parallelism 3"):
        OperatorHarness.unkeyed(Double(), parallelism=3, max_parallelism=2)


def test_the_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(100)
    assert (clock.now(), clock.now()) == (100, 100)
    clock.advance(5)
    assert clock.now() == 105
    clock.set(7)
    assert clock.now() == 7


def test_everything_public_is_exported() -> None:
    assert {"HarnessSnapshot", "ManualClock", "OperatorHarness"} <= set(rekindle.testing.__all__)
    assert all(hasattr(rekindle.testing, name) for name in rekindle.testing.__all__)
