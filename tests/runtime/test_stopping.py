"""Stopping a job with a savepoint: what it ends with, what is in the savepoint, and what failures on the way change."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration, Encoder, JobStatus, RestartStrategies, Time, Types, WatermarkStrategy
from rekindle.common.savepoint_format_type import SavepointFormatType
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import SourceFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import CheckpointError, ConfigurationError, JobCancelledError, StopFailedError
from rekindle.runtime.master.client import LocalJobClient
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.stopping import StopMode, Stopping
from rekindle.runtime.wire import messages as m
from support.balances import assert_exactly_once, environment, judge, numbering_job, read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.sources import Numbers

__all__ = ["cluster"]

EVENTS = 6_000
SLOW = {"rekindle_epoch_max__records": "20"}


def hidden(output: Path) -> list[str]:
    return [name for name in os.listdir(output) if name.startswith(".")]


class Job:
    """The numbering job, with its output and its savepoints."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.output = directory / "out"
        self.savepoints = directory / "savepoints"
        self._checkpoints = directory / "checkpoints"

    def run(self, savepoint: str | None = None, parallelism: int = 2, **changes: Any) -> JobMaster:
        settings = {**SLOW, "state_savepoints_dir": str(self.savepoints)}
        if savepoint is not None:
            settings = {"execution_state__recovery_path": savepoint}
        checkpoints = changes.pop("checkpoints", str(self._checkpoints))
        env = environment(None, checkpoints, **(settings | changes))
        env.set_parallelism(parallelism)
        numbering_job(env, EVENTS, str(self.output))
        return self.cluster.submit(env)

    def started(self, **changes: Any) -> JobMaster:
        master = self.run(**changes)
        wait_until(lambda: self.output.exists() and bool(read_output(str(self.output))), "there is output")
        return master

    def check_rest(self, savepoint: str) -> None:
        """Go on from a savepoint; all output together must be golden."""
        before = len(read_output(str(self.output)))
        assert before < EVENTS, "the job was over before it was stopped: the test proves nothing"
        self.run(savepoint, parallelism=3).result.result(60)
        assert_exactly_once(EVENTS, str(self.output))


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


# --- how a job ends ---


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_a_stopped_job_is_finished_its_output_committed_and_another_goes_on(job: Job, drain: bool) -> None:
    master = job.started()
    client = LocalJobClient(master)
    location = client.stop_with_savepoint(drain, None, SavepointFormatType.NATIVE).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    client.get_job_execution_result().result()
    assert Path(location).parent == job.savepoints
    assert hidden(job.output) == [], "nothing is pending"
    assert judge(EVENTS, str(job.output)).duplicated == 0
    job.check_rest(location)


def test_a_job_that_is_cancelled_with_a_savepoint_leaves_its_last_output_to_the_next(job: Job) -> None:
    client = LocalJobClient(job.started())
    savepoints: set[int] = set()

    def hears(slot: int, message: m.ToMaster) -> bool:  # from now on no checkpoint completes, so that output waits
        return not isinstance(message, m.SnapshotDone) or message.checkpoint_id in savepoints

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return True

    job.cluster.hears, job.cluster.obeys = hears, obeys
    wait_until(lambda: hidden(job.output), "some output waits for a checkpoint")
    location = client.cancel_with_savepoint().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert hidden(job.output), "some output is pending"
    before = len(read_output(str(job.output)))
    job.cluster.hears = lambda slot, message: True
    job.check_rest(location)
    assert len(read_output(str(job.output))) > before


@pytest.mark.parametrize("how", ["stop", "drain", "cancel"])
def test_a_job_without_checkpoints_can_be_stopped_and_goes_on(job: Job, how: str) -> None:
    master = job.run(checkpoints=None)
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    if how == "cancel":
        location = master.cancel_with_savepoint(None).result(60)
        assert read_output(str(job.output)) == []
    else:
        location = master.stop_with_savepoint(None, how == "drain").result(60)
        assert read_output(str(job.output))
    job.check_rest(location)


def test_a_savepoint_in_passing_costs_a_job_without_checkpoints_no_output(job: Job) -> None:
    master = job.run(checkpoints=None)
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    master.trigger_savepoint(None).result(60)
    master.result.result(60)
    assert_exactly_once(EVENTS, str(job.output))


def test_a_job_stopped_at_the_end_of_its_input_is_finished_with_that_savepoint(job: Job) -> None:
    futures: list[Any] = []

    def hears(slot: int, message: m.ToMaster) -> bool:
        if isinstance(message, m.EpochReport) and message.finished and not futures:
            futures.append(job.cluster.masters[0].stop_with_savepoint(None, False))
        return True

    job.cluster.hears = hears
    job.run().result.result(60)
    [future] = futures
    location = future.result(0)
    assert_exactly_once(EVENTS, str(job.output))
    job.run(location).result.result(60)
    assert_exactly_once(EVENTS, str(job.output))


# --- what is in the savepoint: windows, timers, sources ---


class SecondsOf(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Counting(KeyedProcessFunction):
    """Count; a timer at the end of all time tells how many."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 60)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"timer,{ctx.get_current_key()},{self._count.value()}"
        self._count.clear()


def timer_job(env: StreamExecutionEnvironment, output: Path, last: int = 3_000) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondsOf())
    numbers = env.from_source(NumberSequenceSource(1, last), strategy, "numbers").uid("numbers")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    seen = numbers.map(lambda n: f"seen,{n},1").uid("seen")
    timers = numbers.key_by(lambda n: n % 5).process(Counting()).uid("timers")
    seen.union(timers).sink_to(sink.build()).uid("sink")


def fired(output: Path) -> Counter[str]:
    """Add up what timers told, by key; under "seen", how many records there were."""
    sums: Counter[str] = Counter()
    for line in read_output(str(output)):
        kind, key, count = line.split(",")
        sums[key if kind == "timer" else "seen"] += int(count)
    return sums


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_event_time_ends_only_with_drain_and_state_goes_on_in_either_case(
    cluster: Cluster, tmp_path: Path, drain: bool
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"), **SLOW)
    timer_job(env, output)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), drain).result(60)
    sums = fired(output)
    seen = sums.pop("seen")
    assert 0 < seen < 3_000
    assert sums.total() == (seen if drain else 0)
    env = environment(None, None, execution_state__recovery_path=location)
    timer_job(env, output)
    cluster.submit(env).result.result(60)
    assert fired(output) == {"seen": 3_000, **{str(key): 600 for key in range(5)}}


def source_job(env: StreamExecutionEnvironment, output: Path, pause: Callable[[int], None] | None) -> None:
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    numbers = env.add_source(Numbers(4, 2_000, pause), type_info=Types.LONG()).uid("numbers")
    numbers.map(str, Types.STRING()).uid("text").sink_to(sink.build()).uid("sink")


def slowly(number: int) -> None:
    threading.Event().wait(0.001)


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_source_function_goes_on_where_it_was_stopped(
    cluster: Cluster, tmp_path: Path, drain: bool, parallelism: int
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"))
    source_job(env, output, slowly)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), drain).result(60)
    before = len(read_output(str(output)))
    assert 0 < before < 8_000
    env = environment(None, None, execution_state__recovery_path=location)
    env.set_parallelism(parallelism)
    source_job(env, output, None)
    cluster.submit(env).result.result(60)
    assert sorted(map(int, read_output(str(output)))) == list(range(8_000))


class Blocked(SourceFunction):
    """Emit one element, then wait until it is cancelled."""

    def __init__(self) -> None:
        self._cancelled = False

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect(1)
        while not self._cancelled:
            threading.Event().wait(0.005)
        ctx.collect(2)

    def cancel(self) -> None:
        self._cancelled = True


@pytest.mark.parametrize(("drain", "expected"), [(False, ["1"]), (True, ["1", "2"])], ids=["stop", "drain"])
def test_what_a_source_function_emits_after_its_cancel_counts_only_with_drain(
    cluster: Cluster, tmp_path: Path, drain: bool, expected: list[str]
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"))
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    env.add_source(Blocked(), type_info=Types.LONG()).map(str, Types.STRING()).sink_to(sink.build())
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and read_output(str(output)) == ["1"], "the first element is out")
    master.stop_with_savepoint(str(tmp_path), drain).result(60)
    assert sorted(read_output(str(output))) == expected


class Asking(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.01)
        return [value]


def test_loops_and_requests_come_to_their_end_with_drain(cluster: Cluster, tmp_path: Path) -> None:
    output = tmp_path / "out"

    def program(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_source(NumberSequenceSource(1, 1_000), WatermarkStrategy.no_watermarks(), "n").uid("n")
        asked = AsyncDataStream.unordered_wait(numbers, Asking(), Time.seconds(60), output_type=Types.LONG()).uid("ask")
        loop = asked.map(lambda n: (n, 3)).uid("pairs").iterate().uid("loop")
        stepped = loop.map(lambda pair: (pair[0], pair[1] - 1)).uid("step")
        loop.close_with(stepped.filter(lambda pair: pair[1] > 0).uid("again"))
        sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
        sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        done = stepped.filter(lambda pair: pair[1] == 0).uid("done").map(lambda pair: str(pair[0]), Types.STRING())
        done.uid("text").sink_to(sink.build()).uid("sink")

    env = environment(None, str(tmp_path / "checkpoints"), **SLOW)
    env.enable_checkpointing(100, force=True)
    program(env)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), True).result(60)
    before = sorted(map(int, read_output(str(output))))
    assert 0 < len(before) < 1_000
    env = environment(None, None, execution_state__recovery_path=location)
    program(env)
    cluster.submit(env).result.result(60)
    assert sorted(map(int, read_output(str(output)))) == list(range(1, 1_001))


# --- when the savepoint fails ---


def test_when_the_savepoint_fails_the_job_goes_on_as_if_nothing_had_happened(job: Job, tmp_path: Path) -> None:
    master = job.started(restarts=0)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StopFailedError, match=r"the job was not stopped, and goes on: Savepoint \d+ failed: .*file"):
        master.stop_with_savepoint(str(tmp_path / "file"), False).result(60)
    with pytest.raises(CheckpointError):
        master.cancel_with_savepoint(str(tmp_path / "file")).result(60)
    assert master.status is JobStatus.RUNNING
    before = len(read_output(str(job.output)))
    wait_until(lambda: len(read_output(str(job.output))) > before, "there is more output")
    job.check_rest(master.stop_with_savepoint(None, False).result(60))
    assert len(job.cluster.attempts) == 2, "neither job was restarted"


def test_when_the_savepoint_of_a_drain_fails_the_job_goes_back_to_its_checkpoint(job: Job, tmp_path: Path) -> None:
    master = job.started(restarts=0)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StopFailedError, match="goes on"):
        master.stop_with_savepoint(str(tmp_path / "file"), True).result(60)
    wait_until(lambda: len(job.cluster.attempts) == 2, "it has begun again, though it has no restarts")
    assert job.cluster.attempts[1] is not None
    job.check_rest(master.stop_with_savepoint(None, True).result(60))


def savepoint_orders(job: Job, then: Callable[[int, m.ToSlot], bool]) -> None:
    """Call a function for all orders that belong to a savepoint which the job stops with."""
    savepoints: set[int] = set()

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return getattr(order, "checkpoint_id", None) not in savepoints or then(slot, order)

    job.cluster.obeys = obeys


def test_a_savepoint_that_takes_too_long_fails_and_the_job_goes_on(job: Job) -> None:
    master = job.started(execution_checkpointing_timeout="300 ms")
    savepoint_orders(job, lambda slot, order: slot == 0)
    with pytest.raises(StopFailedError, match="EXPIRED"):
        master.stop_with_savepoint(None, False).result(60)
    job.cluster.obeys = lambda slot, order: True
    job.check_rest(master.stop_with_savepoint(None, False).result(60))


# --- when slots are lost ---


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_a_slot_lost_before_the_savepoint_is_complete_leaves_the_stop_to_the_next_attempt(
    job: Job, drain: bool
) -> None:
    lost: list[int] = []

    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and slot == 1 and not lost:
            lost.append(order.checkpoint_id)
            job.cluster.slots[1].lose()
        return True

    master = job.started()
    savepoint_orders(job, then)
    location = master.stop_with_savepoint(None, drain).result(60)
    assert lost
    assert master.status is JobStatus.FINISHED
    assert len(job.cluster.attempts) == 2
    assert [path.name for path in job.savepoints.iterdir()] == [Path(location).name], "nothing is left of the first"
    job.check_rest(location)


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_a_slot_lost_before_it_has_committed_is_replaced_by_one_that_does_and_the_job_is_over(
    job: Job, drain: bool
) -> None:
    lost: list[int] = []
    epochs: list[int] = []

    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 1 and not lost:
            lost.append(order.checkpoint_id)
            job.cluster.slots[1].lose()
            return False
        return True

    master = job.started()
    savepoint_orders(job, then)
    obeys = job.cluster.obeys
    job.cluster.obeys = lambda slot, order: (
        (isinstance(order, m.BeginEpoch) and lost and epochs.append(slot)) or obeys(slot, order)
    )
    location = master.stop_with_savepoint(None, drain).result(60)
    assert master.status is JobStatus.FINISHED
    assert job.cluster.attempts[1:] == lost, "the second attempt began with the savepoint"
    assert epochs == [], "and did nothing but commit"
    assert hidden(job.output) == []
    job.check_rest(location)


def test_a_job_that_fails_for_good_before_all_is_committed_says_where_its_savepoint_is(job: Job) -> None:
    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 1:
            job.cluster.slots[1].lose()
            return False
        return True

    master = job.started(restarts=0)
    savepoint_orders(job, then)
    with pytest.raises(StopFailedError, match=r"savepoint (\S+) is complete, but the job ended \(FAILED\)") as caught:
        master.stop_with_savepoint(None, False).result(60)
    [savepoint] = job.savepoints.iterdir()
    assert str(savepoint) in str(caught.value)
    job.cluster.obeys = lambda slot, order: True
    job.check_rest(str(savepoint))


def test_a_job_cancelled_with_a_savepoint_is_cancelled_though_a_slot_is_lost_then(job: Job) -> None:
    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 1:
            job.cluster.slots[1].lose()
            return False
        return True

    master = job.started()
    savepoint_orders(job, then)
    location = master.cancel_with_savepoint(None).result(60)
    assert master.status is JobStatus.CANCELED
    assert len(job.cluster.attempts) == 1
    job.cluster.obeys = lambda slot, order: True
    job.check_rest(location)


def test_a_stop_that_every_attempt_fails_with_is_given_up(job: Job) -> None:
    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and slot == 1:
            job.cluster.slots[1].lose()
        return True

    master = job.started()
    savepoint_orders(job, then)
    with pytest.raises(StopFailedError, match=r"goes on: 3 attempts to run it failed .* slot 1 was lost"):
        master.stop_with_savepoint(None, False).result(60)
    job.cluster.obeys = lambda slot, order: True
    assert len(job.cluster.attempts) <= 4
    job.check_rest(master.stop_with_savepoint(None, False).result(60))


def test_a_request_waits_for_a_job_that_is_about_to_restart(job: Job) -> None:
    master = job.started()
    job.cluster.slots[0].lose()
    job.check_rest(master.stop_with_savepoint(None, False).result(60))


# --- what cannot be ---


def test_there_is_one_stop_at_a_time_and_none_after_the_end(job: Job) -> None:
    master = job.started()
    savepoint_orders(job, lambda slot, order: slot == 0)
    first = master.stop_with_savepoint(None, False)
    for second in (master.stop_with_savepoint(None, True), master.cancel_with_savepoint(None)):
        with pytest.raises(StopFailedError, match="being stopped already"):
            second.result(0)
    master.cancel()
    with pytest.raises(StopFailedError, match=r"the job ended \(CANCELED\) before it could be stopped"):
        first.result(60)
    with pytest.raises(StopFailedError, match=r"the job had ended \(CANCELED\)"):
        master.stop_with_savepoint(None, False).result(0)


def test_a_request_that_was_cancelled_in_time_is_forgotten() -> None:
    stopping = Stopping()
    assert stopping.request(StopMode.DRAIN, "/savepoints").cancel()
    assert stopping.begin() is None
    assert not stopping.waiting
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    assert stopping.begin() is not None
    assert not future.cancel(), "it has begun"


def test_a_savepoint_that_cannot_be_read_again_is_no_end() -> None:
    stopping = Stopping()
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    stopping.begin()
    stopping.completed(5, "/savepoints/one")
    assert not stopping.ends_with(4), "an earlier checkpoint was restored in its place"
    with pytest.raises(StopFailedError, match="goes on: its savepoint /savepoints/one could not be read"):
        future.result(0)
    assert not stopping.ends_with(4)


def test_without_a_directory_or_in_a_batch_it_raises_at_once(cluster: Cluster, tmp_path: Path) -> None:
    env = environment(None, None)
    numbering_job(env, 10, str(tmp_path / "out"))
    master = cluster.submit(env)
    for request in (
        lambda: master.stop_with_savepoint(None, False),
        lambda: master.cancel_with_savepoint(None),
    ):
        with pytest.raises(ConfigurationError, match=r"state\.savepoints\.dir"):
            request()
    with pytest.raises(ConfigurationError, match="relative"):
        master.stop_with_savepoint("here", True)
    master.result.result(60)
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": "BATCH", "rekindle.progress": "none"})
    )
    env.set_restart_strategy(RestartStrategies.no_restart())
    numbering_job(env, 10, str(tmp_path / "batch"))
    batch = cluster.submit(env)
    with pytest.raises(ConfigurationError, match="runs as a batch"):
        batch.stop_with_savepoint(str(tmp_path), False)
