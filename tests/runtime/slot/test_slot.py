"""A slot: what it takes and refuses in an epoch, and what comes back out of its snapshots."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from rekindle.checkpoint.metadata import ListStateMetadata
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.storage import CheckpointFiles, LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import WatermarkStrategy
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import CheckpointStorageError, SlotProtocolError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Progress, decode
from rekindle.runtime.slot import slot as slot_module
from rekindle.runtime.slot import snapshotter
from rekindle.runtime.slot.failure import OperatorError, describe_failure
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.wire import messages as m
from rekindle.state.key_hash import key_group_of
from rekindle.state.operator_state.stored import DistributionMode
from support.in_process_job import DeclinedError, InProcessJob, collect

KEYS = 20


class Count(KeyedProcessFunction):
    """Count the records of each key, and let a timer at the end of the input say how many there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(1_000)
        yield "record", ctx.get_current_key(), count

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "total", ctx.get_current_key(), self.count.value()


def counting(numbers: int) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(1, numbers)
    stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    collect(stream.key_by(lambda number: number % KEYS).process(Count()).name("the counter").uid("counter"))
    return environment


def expected(numbers: int) -> Counter[Any]:
    """What the job gives, computed without it."""
    per_key = Counter(number % KEYS for number in range(1, numbers + 1))
    records = Counter(("record", key, i) for key, count in per_key.items() for i in range(1, count + 1))
    return records + Counter(("total", key, count) for key, count in per_key.items())


class Keep(KeyedProcessFunction):
    """Keep each record in state, and give what was there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.kept.value()
        self.kept.update(value[1])


def keeping(*records: tuple[Any, Any]) -> StreamExecutionEnvironment:
    """Keep the second half of each record under the first."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(records).uid("records")
    collect(stream.key_by(lambda record: record[0]).process(Keep()).name("the keeper").uid("keeper"))
    return environment


class TestEpochs:
    @pytest.fixture
    def slot(self) -> Iterator[Slot]:
        with InProcessJob(counting(100), attempt=3) as job:
            (slot,) = job.slots
            slot.begin_epoch(m.BeginEpoch(5, 0, [], 10))
            yield slot

    def run(self, slot: Slot, attempt: int = 3, epoch: int = 5, partition: int = 0, level: int = 0) -> None:
        poll = level == 0
        slot.run_task(m.OpenTask(attempt, epoch, level, partition, 0, poll=poll), iter(()), lambda _: None)

    def test_a_second_delivery_is_refused_and_says_what_to_set(self, slot: Slot) -> None:
        self.run(slot)
        with pytest.raises(SlotProtocolError, match=r"epoch 5, level 0, partition 0 .*second time.*maxFailures=1"):
            self.run(slot)

    def test_tasks_of_other_partitions_levels_and_sources_are_no_second_delivery(self, slot: Slot) -> None:
        self.run(slot)
        self.run(slot, partition=1)
        slot.run_task(m.OpenTask(3, 5, 0, 0, 0, source=0), iter(()), lambda _: None)

    def test_a_task_of_an_epoch_that_is_over_is_refused(self, slot: Slot) -> None:
        def frames() -> Iterator[tuple[int, bytearray]]:
            pytest.fail("nothing of it may be looked at")
            yield

        slot.begin_epoch(m.BeginEpoch(6, 0, [], 10))
        with pytest.raises(SlotProtocolError, match=r"slot 0 does not know epoch 5, or it is over"):
            slot.run_task(m.OpenTask(3, 5, 1, 0, 0), frames(), lambda _: None)

    @pytest.mark.parametrize("attempt", [2, 4])
    def test_a_task_of_another_attempt_is_refused_naming_both(self, slot: Slot, attempt: int) -> None:
        with pytest.raises(SlotProtocolError, match=f"runs attempt 3 and refused a task of attempt {attempt}"):
            self.run(slot, attempt=attempt)

    def test_a_task_that_comes_before_its_epoch_waits_for_it(self, slot: Slot) -> None:
        admitted = threading.Event()

        def frames() -> Iterator[tuple[int, bytearray]]:
            admitted.set()
            yield from ()

        task = m.OpenTask(3, 6, 0, 0, 0, poll=True)
        early = threading.Thread(target=slot.run_task, args=(task, frames(), lambda _: None))
        early.start()
        assert not admitted.is_set()
        slot.begin_epoch(m.BeginEpoch(6, 0, [], 10))
        early.join()
        assert admitted.is_set()

    def test_a_task_whose_epoch_never_comes_is_refused(self, slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slot_module, "_EPOCH_WAIT_SECONDS", 0)
        with pytest.raises(SlotProtocolError, match="slot 0 does not know epoch 6"):
            self.run(slot, epoch=6)

    def test_a_task_that_is_overtaken_by_the_next_epoch_stops(self, slot: Slot) -> None:
        def frames() -> Iterator[tuple[int, bytearray]]:
            slot.begin_epoch(m.BeginEpoch(6, 0, [], 10))
            yield from ()

        with pytest.raises(SlotProtocolError, match="epoch 5 is over"):
            slot.run_task(m.OpenTask(3, 5, 0, 0, 0, poll=True), frames(), lambda _: None)

    def test_a_refused_task_changes_nothing(self) -> None:
        with InProcessJob(counting(100)) as job:
            job.run_epoch(max_records=10)
            seen = list(job.collected)
            with pytest.raises(SlotProtocolError):
                job.slots[0].run_task(m.OpenTask(0, 1, 0, 0, 0, poll=True), iter(()), lambda _: None)
            assert job.collected == seen

    def test_hosted_sources_read_no_more_than_the_epoch_allows(self) -> None:
        with InProcessJob(counting(100)) as job:
            (report,) = job.run_epoch(max_records=30)
            assert (report.records_in, report.records_polled, report.more, report.finished) == (30, 30, True, False)
            (report,) = job.run_epoch(max_records=1_000)
            assert (report.records_polled, report.more, report.finished) == (70, False, True)
            assert (report.epoch, report.watermark) == (2, (1 << 63) - 1)

    def test_the_next_processing_time_timer_is_reported(self) -> None:
        class Later(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
                ctx.timer_service().register_processing_time_timer(5_000 + value)

        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.from_collection([3, 1]).key_by(lambda value: value).process(Later())
        with InProcessJob(environment) as job:
            (report,) = job.run_epoch()
            assert report.next_timer == 5_001

    def test_an_error_of_the_user_names_operator_and_subtask_and_shows_only_the_users_frames(self) -> None:
        class Fails(MapFunction):
            def map(self, value: int) -> int:
                raise ValueError(f"cannot take {value}")

        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.from_collection([1]).map(Fails()).name("the map")
        with InProcessJob(environment) as job:
            with pytest.raises(OperatorError) as info:
                job.run_epoch()
            failure = describe_failure(info.value, 0)
            assert (failure.operator, failure.subtask, failure.summary) == ("the map", 0, "ValueError: cannot take 1")
            assert "in map" in failure.traceback
            assert f"{os.sep}rekindle{os.sep}" not in failure.traceback.replace(__file__, "")

    def test_after_an_error_no_snapshot_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The state has counted records whose results are gone with the chunk: to keep it would be to lose them."""

        def fails(value: int) -> int:
            if value == 2:
                raise ValueError(value)
            return value

        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.from_collection([1, 2]).map(fails)
        taken: list[int] = []
        with InProcessJob(environment) as job:
            (slot,) = job.slots
            monkeypatch.setattr(slot._snapshotter, "take", lambda order, *_: taken.append(order.checkpoint_id))
            slot.snapshot(m.TriggerSnapshot(1, 0))
            with pytest.raises(OperatorError):
                job.run_epoch()
            slot.snapshot(m.TriggerSnapshot(2, 0))
        assert taken == [1]

    @pytest.mark.parametrize("when", ["open", "close"])
    def test_an_error_in_open_or_close_names_the_operator(self, when: str) -> None:
        def fail(*_: Any) -> None:
            raise ValueError("no connection")

        function = type("Fails", (MapFunction,), {"map": lambda self, value: value, when: fail})()
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.from_collection([1]).map(function).name("the map")
        with pytest.raises(OperatorError) as info, InProcessJob(environment):
            pass
        assert info.value.node.name == "the map"
        assert str(info.value.__cause__) == "no connection"


@pytest.fixture(params=["memory", "files", "files, small ones inline"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Settings of a job that keeps its checkpoints in the job master's memory or in files."""
    if request.param == "memory":
        return {"files": None}
    files = LocalCheckpointFiles(str(tmp_path / "checkpoints"))
    return {"files": files, "inline_below": 0 if request.param == "files" else 1 << 20}


class TestRestoring:
    @pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (1, 2), (2, 3), (3, 1)])
    def test_every_record_counts_once_though_the_job_was_stopped_in_the_middle(
        self, storage: dict[str, Any], before: int, after: int
    ) -> None:
        numbers = 500
        with InProcessJob(counting(numbers), before, **storage) as job:
            job.run_epoch(max_records=40)
            job.run_epoch(max_records=40)
            checkpoint = job.checkpoint()
            visible = list(job.collected)
            job.run_epoch(max_records=40)
            assert len(job.collected) > len(visible), (
                "what follows the checkpoint must be lost for the test to mean much"
            )
        with InProcessJob(counting(numbers), after, restore=checkpoint, attempt=1, **storage) as job:
            rest = job.run_to_end(max_records=70)
        assert 0 < len(rest) < numbers + KEYS
        assert Counter(visible + rest) == expected(numbers)

    def test_without_a_stop_the_result_is_the_same(self) -> None:
        with InProcessJob(counting(500), 3) as job:
            assert Counter(job.run_to_end(max_records=17)) == expected(500)

    def test_restoring_again_and_again_at_other_parallelisms_loses_nothing(self, storage: dict[str, Any]) -> None:
        numbers, visible = 600, list[Any]()
        checkpoint: StoredCheckpoint | None = None
        for attempt, parallelism in enumerate([1, 2, 3, 5, 1]):
            with InProcessJob(counting(numbers), parallelism, restore=checkpoint, attempt=attempt, **storage) as job:
                job.run_epoch(max_records=30)
                checkpoint = job.checkpoint()
                visible += job.collected
        with InProcessJob(counting(numbers), 2, restore=checkpoint, attempt=9, **storage) as job:
            assert Counter(visible + job.run_to_end()) == expected(numbers)

    def test_a_job_that_had_read_all_its_input_goes_on_from_there(self, storage: dict[str, Any]) -> None:
        with InProcessJob(counting(100), 2, **storage) as job:
            visible = job.run_to_end()
            checkpoint = job.checkpoint()
        with InProcessJob(counting(100), 3, restore=checkpoint, **storage) as job:
            assert job.run_to_end() == []
        assert Counter(visible) == expected(100)

    def test_files_of_a_checkpoint_lie_beside_its_metadata(self, tmp_path: Path) -> None:
        files = LocalCheckpointFiles(str(tmp_path))
        with InProcessJob(counting(100), 2, files=files, attempt=4) as job:
            job.run_epoch()
            checkpoint = job.checkpoint()
        assert files.list(checkpoint.directory) == ["_metadata", "slot-0-4", "slot-1-4"]
        assert [handle.file.path for handle in checkpoint.metadata.handles] == ["slot-0-4", "slot-1-4"]

    def test_small_state_is_kept_in_the_metadata(self, tmp_path: Path) -> None:
        files = LocalCheckpointFiles(str(tmp_path))
        with InProcessJob(counting(100), 2, files=files, inline_below=1 << 20) as job:
            checkpoint = job.checkpoint()
        assert files.list(checkpoint.directory) == ["_metadata"]
        assert all(handle.file.inline for handle in checkpoint.metadata.handles)

    def test_the_metadata_tells_what_each_operator_has(self) -> None:
        with InProcessJob(counting(100), 2) as job:
            job.run_epoch(max_records=10)
            operators = {operator.uid: operator for operator in job.checkpoint().metadata.operators}
        assert operators["counter"].keyed_states == ["_event-time-timers", "count"]
        assert operators["numbers"].list_states == {"splits": ListStateMetadata(DistributionMode.SPLIT, [1, 1])}
        assert (operators["counter"].parallelism, operators["counter"].max_parallelism) == (2, 128)

    def test_positions_of_sources_are_those_of_the_end_of_the_epoch_not_of_the_snapshot(self) -> None:
        """A snapshot between two frames goes back to the last epoch's end: records are seen again, never lost."""
        with InProcessJob(counting(100)) as job:
            job.run_epoch(max_records=10)
            (slot,) = job.slots
            slot.begin_epoch(m.BeginEpoch(2, 0, [], 10))
            slot.run_task(m.OpenTask(0, 2, 0, 0, 0, poll=True), iter(()), lambda _: None)
            checkpoint = job.checkpoint()
            seen = list(job.collected)
        with InProcessJob(counting(100), restore=checkpoint) as job:
            job.run_epoch(max_records=1)
            assert job.collected[0] == ("record", 11, 2), "record 11 was counted before, and comes again"
        assert ("record", 11, 1) in seen


def spy_on_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    forks: list[int] = []
    fork = os.fork

    def forking() -> int:
        child = fork()
        if child:
            forks.append(child)
        return child

    monkeypatch.setattr(os, "fork", forking)
    return forks


MANY = [(number, f"value-{number}") for number in range(6_000)]


class SlowToPickle:
    """Pickle only after the test has said so, in the process that encodes a snapshot."""

    def __init__(self, gate: int) -> None:
        self.gate = gate
        self.maker = os.getpid()

    def __reduce__(self) -> Any:
        if os.getpid() != self.maker:
            os.read(self.gate, 1)
        return str, ("as it was at the barrier",)


class RaisesInReduce:
    def __reduce__(self) -> Any:
        raise RuntimeError("refuses to be pickled")


class KillsWhoPickles:
    def __reduce__(self) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def feed(job: InProcessJob, *records: tuple[Any, Any]) -> None:
    """Give records to the keeper of a job of one slot, past its source: so they need not be picklable."""
    keeper = next(running for running in job.slots[0]._graph if running.node.uid == "keeper")
    keeper.operator.process(Chunk(list(records), None, [key for key, _ in records]))


class TestSnapshots:
    def test_much_state_is_encoded_by_a_forked_child(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forks = spy_on_forks(monkeypatch)
        with InProcessJob(keeping(*MANY)) as job:
            job.run_to_end()
            checkpoint = job.checkpoint()
        assert len(forks) == 1
        with InProcessJob(keeping(*MANY, *MANY), restore=checkpoint) as job:
            assert Counter(job.run_to_end()) == Counter(value for _, value in MANY)

    def test_little_state_is_encoded_on_the_spot(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forks = spy_on_forks(monkeypatch)
        with InProcessJob(keeping(*MANY[:100])) as job:
            job.run_to_end()
            job.checkpoint()
        assert forks == []

    def test_nothing_is_forked_when_snapshots_are_not_asynchronous(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forks = spy_on_forks(monkeypatch)
        with InProcessJob(keeping(*MANY), asynchronous=False) as job:
            job.run_to_end()
            assert job._answers.empty()
            job.begin_checkpoint()
            assert not job._answers.empty(), "all is done when take() returns"
            job.finish_checkpoint(1)
        assert forks == []

    def test_where_no_child_can_be_forked_the_state_is_encoded_on_the_spot(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_memory() -> int:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        monkeypatch.setattr(os, "fork", no_memory)
        with InProcessJob(keeping(*MANY)) as job:
            job.run_to_end()
            checkpoint = job.checkpoint()
        with InProcessJob(keeping(*MANY, *MANY[:1]), restore=checkpoint) as job:
            assert job.run_to_end() == ["value-0"]

    def test_what_changes_after_the_barrier_is_not_in_the_snapshot(self) -> None:
        reading, writing = os.pipe()
        with InProcessJob(keeping()) as job, open(reading, "rb"), open(writing, "wb", buffering=0) as gate:
            feed(job, *MANY, ("slow", SlowToPickle(reading)))
            checkpoint_id = job.begin_checkpoint()
            feed(job, (0, "changed"), ("new", "added"))
            gate.write(b"x")
            checkpoint = job.finish_checkpoint(checkpoint_id)
        again = [(0, None), ("new", None), ("slow", None), (5_999, None)]
        with InProcessJob(keeping(*again), restore=checkpoint) as job:
            assert job.run_to_end() == ["value-0", None, "as it was at the barrier", "value-5999"]

    @pytest.mark.parametrize("size", [0, 6_000], ids=["encoded on the spot", "forked"])
    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            (threading.Lock, "cannot pickle '_thread.lock' object"),
            (lambda: lambda: None, "Can't pickle"),
            (RaisesInReduce, "RuntimeError: refuses to be pickled"),
        ],
        ids=["lock", "lambda", "raising reduce"],
    )
    def test_a_value_that_cannot_be_pickled_declines_the_checkpoint_naming_the_operator(
        self, monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], reason: str, size: int
    ) -> None:
        forks = spy_on_forks(monkeypatch)
        with InProcessJob(keeping()) as job:
            feed(job, *MANY[:size], ("bad", make()))
            with pytest.raises(DeclinedError) as info:
                job.checkpoint()
            assert reason in str(info.value)
            assert "in operator 'the keeper' (uid keeper), subtask 0" in str(info.value)
            assert len(forks) == (size > 0)
            feed(job, ("bad", "good again"))
            assert job.checkpoint().metadata.checkpoint_id == 2, "the job goes on, and the next checkpoint can complete"

    def test_a_child_that_is_killed_declines_the_checkpoint_naming_the_signal(self) -> None:
        with InProcessJob(keeping()) as job:
            feed(job, *MANY, ("bad", KillsWhoPickles()))
            with pytest.raises(DeclinedError, match="the process that wrote the snapshot was killed by signal 9"):
                job.checkpoint()

    @pytest.mark.parametrize("size", [100, 6_000], ids=["encoded on the spot", "forked"])
    def test_more_state_than_the_job_masters_memory_takes_declines_naming_size_limit_and_setting(
        self, size: int
    ) -> None:
        with InProcessJob(keeping(*MANY[:size]), inline_limit=1_000) as job:
            job.run_to_end()
            with pytest.raises(
                DeclinedError, match=r"slot 0 has \d{4,} bytes, .* at most 1000 .*state\.checkpoints\.dir"
            ):
                job.checkpoint()

    def test_state_at_the_limit_of_the_memory_is_taken(self) -> None:
        with InProcessJob(keeping(*MANY[:100])) as job:
            job.run_to_end()
            size = job.checkpoint().metadata.state_size
        with InProcessJob(keeping(*MANY[:100]), inline_limit=size) as job:
            job.run_to_end()
            job.checkpoint()
        with InProcessJob(keeping(*MANY[:100]), inline_limit=size - 1) as job:
            job.run_to_end()
            with pytest.raises(DeclinedError):
                job.checkpoint()

    def test_a_storage_that_fails_declines_the_checkpoint_with_its_explanation(self, tmp_path: Path) -> None:
        class Full(LocalCheckpointFiles):
            def write(self, path: str, source: BinaryIO) -> int:
                raise CheckpointStorageError(f"cannot write {path}: No space left on device")

        with InProcessJob(keeping(*MANY[:10]), files=Full(str(tmp_path))) as job:
            job.run_to_end()
            with pytest.raises(DeclinedError, match=r"cannot write .*/chk-1/slot-0-0: No space left on device"):
                job.checkpoint()
        assert Full(str(tmp_path)).list("") == []

    def test_a_checkpoint_declined_by_one_slot_leaves_no_file_behind(self, tmp_path: Path) -> None:
        files: CheckpointFiles = LocalCheckpointFiles(str(tmp_path))
        with InProcessJob(counting(100), 2, files=files) as job:
            job.run_epoch()
            failing = job.slots[1]._job.snapshots
            failing.files = None
            failing.inline_limit = 0
            with pytest.raises(DeclinedError):
                job.checkpoint()
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

    def test_snapshots_of_several_checkpoints_may_be_under_way_at_once(self) -> None:
        reading, writing = os.pipe()
        options = CheckpointOptions(1, max_concurrent=2, num_retained=5)
        running = InProcessJob(keeping(), options=options)
        with running as job, open(reading, "rb"), open(writing, "wb", buffering=0) as gate:
            feed(job, *MANY, ("slow", SlowToPickle(reading)))
            first = job.begin_checkpoint()
            feed(job, ("slow", "fast"))
            second = job.begin_checkpoint()
            done = job._answers.get(timeout=30)[1]
            assert isinstance(done, m.SnapshotDone)
            assert done.checkpoint_id == second, "the second does not wait for the first"
            gate.write(b"x")
            done = job._answers.get(timeout=30)[1]
            assert isinstance(done, m.SnapshotDone)
            assert done.checkpoint_id == first

    def test_the_buffer_of_a_snapshot_has_no_name_and_no_end_but_that_of_the_slot(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(snapshotter.tempfile, "tempdir", str(tmp_path))
        with InProcessJob(keeping(*MANY)) as job:
            job.run_to_end()
            job.checkpoint()
            feed(job, ("bad", threading.Lock()))
            with pytest.raises(DeclinedError):
                job.checkpoint()
        assert list(tmp_path.iterdir()) == []


class TestEnvelopes:
    def test_records_leave_for_the_slots_that_own_their_keys_and_the_end_for_all(self) -> None:
        with InProcessJob(counting(100), 2) as job:
            slot = job.slots[0]
            slot.begin_epoch(m.BeginEpoch(1, 0, [], 100))
            sent: list[tuple[int, int, bytes]] = []
            slot.run_task(m.OpenTask(0, 1, 0, 0, 0, poll=True), iter(()), sent.append)
        opened = [(target, decode(bytearray(payload))) for _, target, payload in sent]
        keys = [(target, key) for target, item in opened if isinstance(item, Chunk) for key in item.keys or []]
        assert len(keys) == 50
        assert all(subtask_of_key_group(key_group_of(key, 128), 2, 128) == target for target, key in keys)
        ends = [(target, item) for target, item in opened if isinstance(item, Progress)]
        assert ends == opened[-2:], "word of progress comes after all records"
        assert [(target, item.producer, item.ended) for target, item in ends] == [(0, 0, True), (1, 0, True)]


def test_a_slot_starts_without_sparks_package() -> None:
    program = "import sys; import rekindle.runtime.slot.__main__; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
