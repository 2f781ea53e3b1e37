"""Operators of the user's own making: life, output, timers, managed and raw state, at any parallelism."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream import MapFunction, OutputTag, StreamExecutionEnvironment
from rekindle.datastream.functions import CheckpointedFunction, CheckpointListener, ListCheckpointed
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    AbstractUdfStreamOperator,
    InternalTimer,
    KeyGroupRangeAssignment,
    OneInputStreamOperator,
    StateInitializationContext,
    StateSnapshotContext,
    StreamRecord,
    Triggerable,
    TwoInputStreamOperator,
    Watermark,
)
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.custom.custom_operator import CustomOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from rekindle.testing.backends import BackendUnderTest
from support.in_process_job import InProcessJob, collect

LATE = OutputTag("late", Types.INT())
HELD = OutputTag("held", Types.PICKLED_BYTE_ARRAY())
MAX_PARALLELISM = 128


class Telling(AbstractStreamOperator, OneInputStreamOperator):
    """Note what is called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def setup(self, services: Any, output: Any) -> None:
        super().setup(services, output)
        self.calls.append("setup")

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.calls.append(("initialize_state", context.is_restored()))

    def open(self) -> None:
        self.calls.append("open")

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.calls.append(record)
        if record.value < 0:
            self.output.collect_to(LATE, record)
        else:
            self.output.collect(record.replace(record.value + 1))

    def process_watermark(self, mark: Watermark) -> None:
        self.calls.append(mark)
        super().process_watermark(mark)

    def finish(self) -> None:
        self.calls.append("finish")
        self.output.collect(StreamRecord("the end"))

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self.calls.append(("snapshot_state", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))

    def close(self) -> None:
        self.calls.append("close")


def harness(operator: Any, keyed: bool = False, **settings: Any) -> OperatorHarness:
    if not keyed:
        return OperatorHarness.unkeyed(operator, **settings)
    return OperatorHarness.keyed(operator, lambda value: value % 10, lambda value: value % 10, **settings)


def test_an_operator_is_taken_through_its_life() -> None:
    operator = Telling()
    run = harness(operator)
    assert run.process(1, -2, 3, timestamps=[10, None, 30]) == [2, 4]
    assert run.side_outputs == {"late": [-2]}
    run.advance_watermark(20)
    run.clock.set(7)
    run.snapshot(4)
    run.complete(4)
    run.abort(5)
    assert run.finish() == ["the end"]
    run.close()
    assert operator.calls == [
        "setup",
        ("initialize_state", False),
        "open",
        StreamRecord(1, 10),
        StreamRecord(-2, None),
        StreamRecord(3, 30),
        Watermark(20),
        ("snapshot_state", 4, 7),
        ("complete", 4),
        ("aborted", 5),
        Watermark((1 << 63) - 1),
        "finish",
        "close",
    ]


def test_timestamps_of_emitted_records_are_kept() -> None:
    run = harness(Telling())
    chunk, without = run.operator.process(Chunk([1, 2], [10, None])), run.operator.process(Chunk([1]))
    assert chunk is not None
    assert without is not None
    assert (chunk.values, chunk.timestamps) == ([2, 3], [10, None])
    assert without.timestamps is None


def test_what_was_emitted_cannot_be_changed_any_more() -> None:
    class Reuses(AbstractStreamOperator, OneInputStreamOperator):
        def open(self) -> None:
            self.record = StreamRecord({"value": 0})

        def process_element(self, record: StreamRecord[Any]) -> None:
            self.record.value["value"] = record.value
            self.record.timestamp = record.timestamp
            self.output.collect(self.record)

    assert harness(Reuses()).process(1, 2) == [{"value": 1}, {"value": 2}]


def test_an_operator_decides_about_its_watermark() -> None:
    class HoldsBack(AbstractStreamOperator, OneInputStreamOperator):
        def process_element(self, record: StreamRecord[Any]) -> None:
            pass

        def process_watermark(self, mark: Watermark) -> None:
            super().process_watermark(Watermark(mark.timestamp - 100))

    run = harness(HoldsBack())
    assert run.operator.output_watermark(0) == -(1 << 63)
    run.advance_watermark(1_000)
    assert run.operator.output_watermark(1_000) == 900


class Reminding(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Set timers in two services, and tell of each that fires."""

    def open(self) -> None:
        self.short = self.get_internal_timer_service("short", None, self)
        self.long = self.get_internal_timer_service("long", Types.STRING(), _Long(self))

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.short.register_event_time_timer(None, record.value)
        self.long.register_event_time_timer("a", record.value + 100)
        self.long.register_event_time_timer("b", record.value + 100)
        self.long.register_event_time_timer("c", record.value + 100)
        self.long.delete_event_time_timer("c", record.value + 100)
        self.short.register_processing_time_timer(None, record.value + 1_000)
        self.long.register_processing_time_timer("p", record.value + 2_000)
        self.long.register_processing_time_timer("q", record.value + 2_000)
        self.long.delete_processing_time_timer("q", record.value + 2_000)

    def on_event_time(self, timer: InternalTimer) -> None:
        assert self.get_current_key() == timer.key
        self.output.collect(StreamRecord(("short event", timer.get_key(), timer.get_namespace(), timer.timestamp)))

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.output.collect(StreamRecord(("short processing", timer.key, timer.namespace, timer.timestamp)))


class _Long(Triggerable):
    def __init__(self, operator: Reminding) -> None:
        self.operator = operator

    def on_event_time(self, timer: InternalTimer) -> None:
        service = self.operator.long
        times = service.current_watermark(), service.current_processing_time()
        self.operator.output.collect(StreamRecord(("long event", timer.key, timer.namespace, timer.timestamp, *times)))

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.operator.output.collect(StreamRecord(("long processing", timer.key, timer.namespace, timer.timestamp)))


def test_each_timer_service_has_timers_of_its_own_which_a_snapshot_keeps() -> None:
    run = harness(Reminding(), keyed=True)
    run.process(12, 25)
    assert run.operator.next_processing_timer() == 1_012
    again = harness(Reminding(), keyed=True, restored=[run.snapshot()])
    for each in (run, again):
        assert each.advance_watermark(50) == [("short event", 2, None, 12), ("short event", 5, None, 25)]
        assert each.advance_watermark(112) == [("long event", 2, "a", 112, 112, 0), ("long event", 2, "b", 112, 112, 0)]
        assert each.advance_processing_time(1_012) == [("short processing", 2, None, 1_012)]
        assert each.advance_processing_time(2_500) == [
            ("short processing", 5, None, 1_025),
            ("long processing", 2, "p", 2_012),
            ("long processing", 5, "p", 2_025),
        ]
        assert each.operator.next_processing_timer() is None


def test_timers_of_a_service_that_nobody_asks_for_are_kept() -> None:
    run = harness(Reminding(), keyed=True)
    run.process(12)
    without = harness(Telling(), keyed=True, restored=[run.snapshot()])
    again = harness(Reminding(), keyed=True, restored=[without.snapshot()])
    assert again.advance_watermark(12) == [("short event", 2, None, 12)]


def test_a_timer_service_belongs_to_one_triggerable() -> None:
    class Twice(Telling, Triggerable):
        def open(self) -> None:
            assert self.get_internal_timer_service("x", None, self) is self.get_internal_timer_service("x", None, self)
            self.get_internal_timer_service("x", None, _Long(None))  # type: ignore[arg-type]

        def on_event_time(self, timer: InternalTimer) -> None:
            pass

        def on_processing_time(self, timer: InternalTimer) -> None:
            pass

    with pytest.raises(InvalidProgramError, match=r"timer service 'x' .* was asked for twice"):
        harness(Twice(), keyed=True)


@pytest.mark.parametrize("use", ["get_keyed_state_backend", "get_current_key", "timers", "state", "raw"])
def test_what_needs_a_key_is_refused_without_one(use: str) -> None:
    class Wants(Telling):
        def snapshot_state(self, context: StateSnapshotContext) -> None:
            if use == "raw":
                context.get_raw_keyed_operator_state_output()
            elif use == "timers":
                self.get_internal_timer_service("x", None, _Long(None))  # type: ignore[arg-type]
            elif use == "state":
                self.get_partitioned_state(ValueStateDescriptor("x"))
            else:
                getattr(self, use)()

    with pytest.raises(StateAccessError, match="has no key"):
        harness(Wants()).snapshot()


class Both(AbstractStreamOperator, TwoInputStreamOperator):
    """Add up the first input per key; the second asks for it, of any key."""

    def open(self) -> None:
        self.total = self.get_partitioned_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, record: StreamRecord[Any]) -> None:
        self.total.update((self.total.value() or 0) + record.value)
        seen = self.get_partitioned_state(ListStateDescriptor("seen"), namespace=record.value > 50)
        seen.add(record.value)  # type: ignore[attr-defined]

    def process_element2(self, record: StreamRecord[Any]) -> None:
        key = self.get_current_key()
        large = list(self.get_partitioned_state(ListStateDescriptor("seen"), namespace=True).get())  # type: ignore[attr-defined]
        self.output.collect(StreamRecord((key, self.total.value(), large)))
        self.set_current_key(9)
        self.output.collect(StreamRecord((9, self.total.value())))


def test_two_inputs_share_keyed_state_and_namespaces_are_apart() -> None:
    run = harness(Both(), keyed=True)
    run.process(1, 51, 9)
    assert run.process_second(1) == [(1, 52, [51]), (9, 9)]


# --- state in whole jobs ---


class Everything(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Keep one count per key four times: managed, raw by key group, raw by partition, and in timers."""

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.managed = context.get_keyed_state_store().get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.raw: Counter[Any] = Counter()
        self.key_groups = []
        for key_group, stream in context.get_raw_keyed_state_inputs():
            self.key_groups.append(key_group)
            self.raw.update(pickle.load(stream))
        self.partitions = [stream.read() for stream in context.get_raw_operator_state_inputs()]
        assert context.is_restored() == bool(self.key_groups)

    def open(self) -> None:
        self.timers = self.get_internal_timer_service("end", None, self)

    def process_element(self, record: StreamRecord[Any]) -> None:
        key = self.get_current_key()
        self.managed.update((self.managed.value() or 0) + 1)
        self.raw[key] += 1
        self.seen.add(record.value)
        self.partitions.append(str(record.value).encode())
        self.timers.register_event_time_timer(None, 1_000_000)

    def on_event_time(self, timer: InternalTimer) -> None:
        key = timer.key
        self.output.collect(StreamRecord((key, self.managed.value(), self.raw[key])))

    def on_processing_time(self, timer: InternalTimer) -> None:
        raise AssertionError("none was set")

    def finish(self) -> None:
        self.output.collect_to(HELD, StreamRecord((sorted(map(int, self.partitions)), sorted(self.seen.get()))))

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        output = context.get_raw_keyed_operator_state_output()
        for key_group in output.get_key_group_list():
            output.start_new_key_group(key_group)
            own = {
                k: n
                for k, n in self.raw.items()
                if KeyGroupRangeAssignment.assign_to_key_group(k, MAX_PARALLELISM) == key_group
            }
            pickle.dump(own, output)  # type: ignore[arg-type]
        partitions = context.get_raw_operator_state_output()
        for partition in self.partitions:
            partitions.start_new_partition()
            partitions.write(partition)


def counting(records: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection(list(range(records))).uid("numbers").key_by(lambda number: number % 17)
    stream = keyed.transform("Everything", None, Everything()).uid("everything")
    collect(stream)
    collect(stream.get_side_output(HELD))
    return env


def customs(job: InProcessJob) -> Iterator[Everything]:
    for slot in job.slots:
        for running in slot._graph:
            if isinstance(running.operator, CustomOperator):
                yield running.operator.operator


BACKENDS = {"heap": BackendSettings(), "rocksdb": BackendSettings(rocksdb=RocksDBSettings())}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("steps", [(2, 3, 1), (2, 2), (1, 4)])
def test_all_state_survives_crashes_and_rescaling(tmp_path: Path, backend: str, steps: tuple[int, ...]) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    stored = None
    for attempt, parallelism in enumerate(steps):
        settings: dict[str, Any] = {"files": files, "backend": BACKENDS[backend], "attempt": attempt}
        with InProcessJob(counting(200), parallelism, restore=stored, **settings) as job:
            for subtask, operator in enumerate(customs(job)):
                own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
                assert operator.key_groups == (list(own) if attempt else [])
            if attempt == len(steps) - 1:
                results = job.run_to_end()
                break
            job.run_epoch(max_records=60)
            stored = job.checkpoint()
            job.run_epoch(max_records=60)  # lost in the crash
    counts = [result for result in results if len(result) == 3]
    assert sorted(counts) == [(key, n, n) for key in range(17) for n in [len(range(key, 200, 17))]]
    sides = [result for result in results if len(result) == 2]
    for column in zip(*sides, strict=True):
        assert sorted(value for values in column for value in values) == list(range(200))


def test_partitions_of_raw_operator_state_are_dealt_out_evenly_and_in_order() -> None:
    class Writes(Telling):
        def initialize_state(self, context: StateInitializationContext) -> None:
            self.read = [stream.read() for stream in context.get_raw_operator_state_inputs()]

        def snapshot_state(self, context: StateSnapshotContext) -> None:
            output = context.get_raw_operator_state_output()
            output.write(b"0")  # the first partition need not be begun
            for number in range(1, 7):
                output.start_new_partition()
                output.write(b"%d" % number)
                output.write(b"!")

    snapshot = harness(Writes()).snapshot()
    parts = []
    for subtask in range(3):
        operator = Writes()
        harness(operator, restored=[snapshot], subtask=subtask, parallelism=3)
        parts.append(operator.read)
    assert parts == [[b"0", b"1!", b"2!"], [b"3!", b"4!"], [b"5!", b"6!"]]


@pytest.mark.parametrize(
    ("key_groups", "words"),
    [([64], "has the key groups 0 to 63"), ([5, 5], "began twice"), ([], "call start_new_key_group first")],
)
def test_raw_state_of_key_groups_is_checked(key_groups: list[int], words: str) -> None:
    class Writes(Telling):
        def snapshot_state(self, context: StateSnapshotContext) -> None:
            output = context.get_raw_keyed_operator_state_output()
            for key_group in key_groups:
                output.start_new_key_group(key_group)
            output.write(b"x")

    with pytest.raises(ValueError, match=words):
        harness(Writes(), keyed=True, parallelism=2).snapshot()


def test_a_user_function_takes_part() -> None:
    class Function(MapFunction, CheckpointedFunction, CheckpointListener):
        def __init__(self) -> None:
            self.calls: list[Any] = []

        def initialize_state(self, context: Any) -> None:
            self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("all"))
            self.calls.append(("initialize", list(self.state.get())))

        def open(self, runtime_context: Any) -> None:
            self.calls.append(("open", runtime_context.get_task_name()))

        def map(self, value: int) -> int:
            self.state.add(value)
            return -value

        def snapshot_state(self, context: Any) -> None:
            self.calls.append(("snapshot", context.get_checkpoint_id()))

        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            self.calls.append(("complete", checkpoint_id))

        def close(self) -> None:
            self.calls.append("close")

    class Maps(AbstractUdfStreamOperator, OneInputStreamOperator):
        def process_element(self, record: StreamRecord[Any]) -> None:
            self.output.collect(record.replace(self.get_user_function().map(record.value)))  # type: ignore[attr-defined]

    function = Function()
    run = harness(Maps(function))
    assert run.process(1, 2) == [-1, -2]
    snapshot = run.snapshot(3)
    run.complete(3)
    run.close()
    assert function.calls == [("initialize", []), ("open", "operator"), ("snapshot", 3), ("complete", 3), "close"]
    restored = Function()
    harness(Maps(restored), restored=[snapshot])
    assert restored.calls[0] == ("initialize", [1, 2])


def test_a_function_that_keeps_its_state_as_one_list_is_refused() -> None:
    class Function(MapFunction, ListCheckpointed):
        def map(self, value: int) -> int:
            return value

        def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
            return []

        def restore_state(self, state: list[Any]) -> None:
            pass

    with pytest.raises(InvalidProgramError, match="make it a CheckpointedFunction"):
        AbstractUdfStreamOperator(Function())


def test_transform_takes_operators_with_the_right_inputs_only() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    assert stream.transform("mine", Types.INT(), Telling()).get_name() == "mine"
    connected = stream.connect(stream)
    assert connected.transform("both", None, Both()).get_name() == "both"
    for wrong in (lambda: stream.transform("x", None, Both()), lambda: connected.transform("x", None, Telling())):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="takes an operator that is an AbstractStreamOperator"):
            wrong()


def test_an_operator_on_connected_keyed_streams_runs_in_a_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    first = env.from_collection([1, 11, 52, 9])
    second = env.from_collection([1, 2])
    connected = first.connect(second).key_by(lambda value: value % 10, lambda value: value % 10, Types.INT())
    collect(connected.transform("both", None, Asks()))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [(1, 12), (2, 52)]


class Asks(AbstractStreamOperator, TwoInputStreamOperator, Triggerable):
    """Add up the first input, and tell the sums of the keys of the second at the end."""

    def open(self) -> None:
        self.total = self.get_partitioned_state(ValueStateDescriptor("total", Types.LONG()))
        self.timers = self.get_internal_timer_service("end", None, self)

    def process_element1(self, record: StreamRecord[Any]) -> None:
        self.total.update((self.total.value() or 0) + record.value)

    def process_element2(self, record: StreamRecord[Any]) -> None:
        self.timers.register_event_time_timer(None, 5)

    def on_event_time(self, timer: InternalTimer) -> None:
        self.output.collect(StreamRecord((timer.key, self.total.value())))

    def on_processing_time(self, timer: InternalTimer) -> None:
        raise AssertionError("none was set")


def test_rocksdb_serves_a_custom_operator_in_the_harness() -> None:
    backend = BackendUnderTest("rocksdb", BACKENDS["rocksdb"])
    run = harness(Both(), keyed=True, state_backend=backend)
    run.process(3, 53)
    assert run.process_second(3) == [(3, 56, [53]), (9, None)]
    run.close()
    backend.close()


class Totals(AbstractStreamOperator, OneInputStreamOperator):
    """Tell the sum of all records when there are no more."""

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("sums", Types.LONG()))
        self.sum = sum(self.state.get())

    def process_element(self, record: StreamRecord[int]) -> None:
        self.sum += record.value

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self.state.update([self.sum])

    def finish(self) -> None:
        self.output.collect(StreamRecord(self.sum))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("again", [1, 2, 3])
def test_an_operator_that_had_finished_does_not_finish_again(tmp_path: Path, parallelism: int, again: int) -> None:
    def program() -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        short = env.from_collection([1, 2, 3]).uid("short").rebalance()
        collect(short.transform("total", Types.LONG(), Totals()).uid("total"))
        collect(env.from_collection(list(range(100, 200))).uid("long"))
        return env

    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(), parallelism, files=files) as job:
        for _ in range(5):  # the short stream has ended, the long one has not
            job.run_epoch(3)
        checkpoint = job.checkpoint()
        seen = list(job.collected)
    assert sum(value for value in seen if value < 100) == 6
    for _ in range(2):
        with InProcessJob(program(), again, files=files, restore=checkpoint) as job:
            job.run_epoch(3)
            seen, checkpoint = seen + job.collected, job.checkpoint()
    with InProcessJob(program(), again, files=files, restore=checkpoint) as job:
        seen += job.run_to_end()
    assert sum(value for value in seen if value < 100) == 6
    assert sorted(value for value in seen if value >= 100) == list(range(100, 200))


class FlushesLater(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Keep records until a timer in processing time is due; it sets another."""

    def open(self) -> None:
        self.timers = self.get_internal_timer_service("flush", None, self)
        self.kept = ListStateDescriptor("kept", Types.LONG())

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.get_partitioned_state(self.kept).add(record.value)
        self.timers.register_processing_time_timer(None, self.timers.current_processing_time() + 1_000 * record.value)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.output.collect(StreamRecord((timer.get_key(), list(self.get_partitioned_state(self.kept).get()))))
        self.timers.register_processing_time_timer(None, timer.get_timestamp() + 1_000_000)

    def on_event_time(self, timer: InternalTimer) -> None: ...


def test_timers_in_processing_time_fire_at_the_end_of_a_batch() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection([1, 2, 3]).key_by(lambda n: n % 2).transform("later", None, FlushesLater()))
    with InProcessJob(env, 1, batch_memory=1_000) as job:
        assert job.run_to_end() == [(1, [1, 3]), (0, [2]), (1, [1, 3])]
