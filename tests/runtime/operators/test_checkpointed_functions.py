"""Functions that take part in checkpoints: what they are called with, when, and what they get back after a restore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import CheckpointCorruptError, InvalidProgramError, StateAccessError
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.wire import messages as m
from rekindle.testing import ManualClock, OperatorHarness
from support.in_process_job import DeclinedError, InProcessJob, collect

calls: list[Any] = []
"""What functions under test were called with; they run in this process."""


@pytest.fixture(autouse=True)
def no_calls() -> None:
    calls.clear()


class Noting(CheckpointedFunction, CheckpointListener):
    """Note every call."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        calls.append(("initialize", context.is_restored(), context.get_restored_checkpoint_id()))
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))

    def open(self, runtime_context: RuntimeContext) -> None:
        calls.append(("open", list(self.state)))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self.state.add(context.get_checkpoint_id())

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        calls.append(("aborted", checkpoint_id))

    def close(self) -> None:
        calls.append("close")


class NotingMap(Noting, MapFunction):
    def map(self, value: Any) -> Any:
        return value


class NotingFlatMap(Noting, FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return [value]


class NotingFilter(Noting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class NotingProcess(Noting, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value]


class NotingSink(Noting, SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        pass


class NotingReduce(Noting, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class NotingKeyedProcess(Noting, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value]


UNKEYED = [NotingMap, NotingFlatMap, NotingFilter, NotingProcess, NotingSink]
KEYED = [NotingMap, NotingFlatMap, NotingFilter, NotingReduce, NotingKeyedProcess]


@pytest.mark.parametrize(
    ("function", "keyed"),
    [*((function, False) for function in UNKEYED), *((function, True) for function in KEYED)],
    ids=lambda value: value.__name__ if isinstance(value, type) else "keyed" if value else "without a key",
)
def test_every_function_is_taken_through_its_life(function: Any, keyed: bool) -> None:
    def opened(**settings: Any) -> OperatorHarness:
        if keyed:
            return OperatorHarness.keyed(function(), lambda value: value, **settings)
        return OperatorHarness.unkeyed(function(), **settings)

    harness = opened(clock=ManualClock(500))
    harness.process(1)
    snapshot = harness.snapshot(7)
    harness.complete(7)
    harness.snapshot(8)
    harness.abort(8)
    harness.close()
    assert calls == [
        ("initialize", False, None),
        ("open", []),
        ("snapshot", 7, 500),
        ("complete", 7),
        ("snapshot", 8, 500),
        ("aborted", 8),
        "close",
    ]
    calls.clear()
    opened(restored=[snapshot])
    assert calls == [("initialize", True, 7), ("open", [7])]


# ---------------------------------------------------------------------------------------------- whole jobs

STEPS = (1, 3, 2, 5, 5)
PER_STEP = 60


class Tally(MapFunction, CheckpointedFunction):
    """Keep the numbers seen in a list, how many they are in a union list, and who wrote it in a broadcast map."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._numbers = store.get_list_state(ListStateDescriptor("numbers", Types.LONG()))
        self._counts = store.get_union_list_state(ListStateDescriptor("counts"))
        self._writer = store.get_broadcast_state(MapStateDescriptor("writer", Types.STRING(), Types.INT()))
        self.numbers = list(self._numbers)
        self.restored_counts = list(self._counts)
        self.restored_writer = dict(self._writer.items())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> int:
        self.numbers.append(value)
        return value

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._numbers.update(self.numbers)
        self._counts.update([(self.subtask, len(self.numbers))])
        self._writer.put_all({"subtask": self.subtask, "nobody": None})


class Listed(MapFunction, ListCheckpointed):
    """Keep the numbers seen the short way."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def restore_state(self, state: list[Any]) -> None:
        calls.append("restored")
        self.numbers = state

    def map(self, value: int) -> int:
        self.numbers.append(value)
        return value

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        calls.append((checkpoint_id, timestamp))
        return self.numbers


def program(function: Any, count: int = PER_STEP * len(STEPS)) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    numbers = environment.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers")
    collect(numbers.uid("numbers").map(function).uid("function").name("the function"))
    return environment


def functions(job: InProcessJob) -> list[Any]:
    """Return the function under test in each slot."""
    return [
        running.operator.function
        for slot in job.slots
        for running in slot._graph
        if isinstance(running.operator, UserFunctionOperator) and running.node.uid == "function"
    ]


def test_operator_state_survives_failures_and_rescaling(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    stored, before = None, []
    for number, parallelism in enumerate(STEPS):
        with InProcessJob(program(Tally()), parallelism, files=files, restore=stored, attempt=number) as job:
            if stored is not None:
                found = functions(job)
                whole = [(function.subtask, len(function.numbers)) for function in before]
                assert [function.restored_counts for function in found] == [whole] * parallelism
                assert [function.restored_writer for function in found] == [
                    {"subtask": subtask % len(before), "nobody": None} for subtask in range(parallelism)
                ]
                held = [function.numbers for function in found]
                old = [function.numbers for function in before]
                assert [n for own in held for n in own] == [n for own in old for n in own]
                if parallelism == len(before):
                    assert held == old
                else:
                    assert max(map(len, held)) - min(map(len, held)) <= 1
            if number == len(STEPS) - 1:
                job.run_to_end()
                result = functions(job)
                break
            job.run_epoch(max_records=PER_STEP // parallelism)
            stored = job.checkpoint()
            before = [_copy(function) for function in functions(job)]
            job.run_epoch(max_records=10)  # lost with the job: these come again
    assert Counter(n for function in result for n in function.numbers) == Counter(range(1, PER_STEP * len(STEPS) + 1))


def _copy(function: Any) -> Any:
    copied = object.__new__(type(function))
    copied.subtask, copied.numbers = function.subtask, list(function.numbers)
    return copied


def test_the_list_of_a_list_checkpointed_function_is_dealt_out(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(Listed(), 7), 2, files=files) as job:
        job.run_to_end()
        assert calls == []
        stored = job.checkpoint()
        assert calls == [(stored.metadata.checkpoint_id, job.clock.now())] * 2
        before = [function.numbers for function in functions(job)]
    with InProcessJob(program(Listed(), 7), 3, files=files, restore=stored) as job:
        assert calls[2:] == ["restored"] * 3
        held = [function.numbers for function in functions(job)]
        assert [n for own in held for n in own] == [n for own in before for n in own]
        assert [len(own) for own in held] == [3, 2, 2]


class Unaware(MapFunction):
    def map(self, value: int) -> int:
        return value


def test_state_of_a_function_that_does_not_ask_for_it_is_still_there_later(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(Tally(), 10), 2, files=files) as job:
        job.run_to_end()
        stored = job.checkpoint()
        before = [_copy(function) for function in functions(job)]
    for parallelism in (3, 1):
        with InProcessJob(program(Unaware(), 10), parallelism, files=files, restore=stored) as job:
            stored = job.checkpoint()
    with InProcessJob(program(Tally(), 10), 2, files=files, restore=stored) as job:
        found = functions(job)
        assert [n for function in found for n in function.numbers] == [n for f in before for n in f.numbers]
        assert [function.restored_counts for function in found] == [[(0, 5), (1, 5)]] * 2
        assert all(function.restored_writer["nobody"] is None for function in found)


def test_a_new_function_in_a_restored_job_is_told_so_and_has_nothing(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))

    def with_uid(uid: str) -> StreamExecutionEnvironment:
        environment = StreamExecutionEnvironment.get_execution_environment()
        numbers = environment.from_source(NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers")
        collect(numbers.uid("numbers").map(NotingMap() if uid == "new" else Unaware()).uid(uid))
        return environment

    with InProcessJob(with_uid("old"), files=files) as job:
        stored = job.checkpoint()
    with InProcessJob(with_uid("new"), files=files, restore=stored):
        assert calls == [("initialize", True, stored.metadata.checkpoint_id), ("open", [])]


def test_a_file_with_fewer_items_than_its_metadata_says_is_damaged(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(Tally(), 3), files=files) as job:
        job.run_epoch()
        stored = job.checkpoint()
    for operator in stored.metadata.operators:
        if operator.uid == "function":
            operator.list_states["numbers"].counts[0] += 1
    with pytest.raises(OperatorError) as caught:
        InProcessJob(program(Tally(), 3), files=files, restore=stored)
    assert isinstance(caught.value.__cause__, CheckpointCorruptError)
    assert "fewer items of state 'numbers' of operator 'function', subtask 0" in str(caught.value.__cause__)


class TestNotifications:
    def test_a_checkpoint_that_completes_and_one_that_does_not(self, tmp_path: Path) -> None:
        with InProcessJob(program(NotingMap(), 3), files=LocalCheckpointFiles(str(tmp_path))) as job:
            job.run_epoch()
            first = job.checkpoint().metadata.checkpoint_id
            assert calls[-1] == ("complete", first)
            functions(job)[0].state.add(lambda: "no pickle")
            with pytest.raises(DeclinedError, match=r"state 'seen' of operator 'the function' \(uid 'function'\)"):
                job.checkpoint()
            assert calls[-1] == ("aborted", first + 1)

    def test_a_savepoint_taken_in_passing_is_not_reported_as_complete(self, tmp_path: Path) -> None:
        with InProcessJob(program(NotingMap(), 3), files=LocalCheckpointFiles(str(tmp_path))) as job:
            calls.clear()
            job.broadcast(m.NotifyComplete(1, restore_point=False))
            assert calls == []
            job.broadcast(m.NotifyComplete(2, restore_point=True))
            assert calls == [("complete", 2)]


class Raising(NotingMap):
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        raise RuntimeError("the disk is full")


def test_a_function_that_raises_at_the_barrier_fails_the_attempt(tmp_path: Path) -> None:
    with InProcessJob(program(Raising(), 3), files=LocalCheckpointFiles(str(tmp_path))) as job:
        job.run_epoch()
        with pytest.raises(OperatorError) as caught:
            job.checkpoint()
        assert str(caught.value.__cause__) == "the disk is full"


# ---------------------------------------------------------------------------------------------- keyed state


class CountPerKey(KeyedProcessFunction, CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.count = context.get_keyed_state_store().get_state(ValueStateDescriptor("count", Types.LONG()))
        self.keys = context.get_operator_state_store().get_list_state(ListStateDescriptor("count"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.keys.update([1])


def test_keyed_state_may_be_set_up_in_initialize_state_beside_operator_state_of_the_same_name() -> None:
    harness = OperatorHarness.keyed(CountPerKey(), lambda value: value)
    assert harness.process("a", "b", "a") == [("a", 1), ("b", 1), ("a", 2)]
    again = OperatorHarness.keyed(CountPerKey(), lambda value: value, restored=[harness.snapshot()])
    assert again.process("a") == [("a", 3)]
    assert list(again.operator.function.keys) == [1]  # type: ignore[attr-defined]


def test_keyed_state_cannot_be_used_at_the_barrier() -> None:
    class Careless(CountPerKey):
        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            self.count.update(0)

    harness = OperatorHarness.keyed(Careless(), lambda value: value)
    harness.process("a")
    with pytest.raises(StateAccessError, match="no current key"):
        harness.snapshot()


def test_keyed_state_on_a_stream_without_a_key_raises_and_says_what_to_do() -> None:
    class Wrong(NotingMap):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            context.get_keyed_state_store().get_state(ValueStateDescriptor("count"))

    with pytest.raises(StateAccessError, match=r"call key_by"):
        OperatorHarness.unkeyed(Wrong())


# ---------------------------------------------------------------------------------------------- what is refused


def test_a_function_of_both_interfaces_is_refused_when_the_program_is_written() -> None:
    class Both(MapFunction, CheckpointedFunction, ListCheckpointed):  # type: ignore[misc]
        def map(self, value: Any) -> Any:
            return value

        def initialize_state(self, context: Any) -> None:
            raise AssertionError

        def restore_state(self, state: Any) -> None:
            raise AssertionError

        def snapshot_state(self, *arguments: Any) -> Any:
            raise AssertionError

    with pytest.raises(InvalidProgramError, match="Both implements both CheckpointedFunction and ListCheckpointed"):
        program(Both())


def test_subtasks_that_ask_for_a_state_in_different_ways_fail_the_checkpoint(tmp_path: Path) -> None:
    class Unequal(MapFunction, CheckpointedFunction):
        def __init__(self) -> None:
            self.store: Any = None

        def initialize_state(self, context: FunctionInitializationContext) -> None:
            self.store = context.get_operator_state_store()

        def open(self, runtime_context: RuntimeContext) -> None:
            way = "get_list_state" if runtime_context.get_index_of_this_subtask() else "get_union_list_state"
            getattr(self.store, way)(ListStateDescriptor("unequal"))

        def map(self, value: Any) -> Any:
            return value

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            pass

    with InProcessJob(program(Unequal(), 4), 2, files=LocalCheckpointFiles(str(tmp_path))) as job:
        checkpoint_id = job.begin_checkpoint()
        with pytest.raises(AssertionError):  # of the test's own job: there is no completed checkpoint
            job.finish_checkpoint(checkpoint_id)
        (failed,) = job.coordinator.history()
        assert "state 'unequal' of operator 'the function' (uid function) is split and union state" in failed.message
