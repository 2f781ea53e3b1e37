"""Source functions and a buffering sink on real Spark, with slots that are killed: nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, Types
from rekindle.datastream import CheckpointingMode, SinkFunction
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.functions import CheckpointedFunction, SourceFunction
from rekindle.datastream.state import ListStateDescriptor
from rekindle.exceptions import JobExecutionError, UserCodeError
from rekindle.runtime.master.views.progress import EpochSummary, ProgressView
from support.balances import environment, events, read_output
from support.processes import wait_until
from support.sources import Numbers

pytestmark = pytest.mark.usefixtures("no_slots_left")

RANGES, SIZE = 4, 6_000


def files(output: str) -> Any:
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
    return sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def kill_a_slot_once_there_is_output(master: Any, output: str) -> None:
    wait_until(lambda: master.result.done() or (os.path.exists(output) and read_output(output)), "output", 240)
    assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
    victim = master.slot_pids()[1]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in master.slot_pids().values(), "the loss is noticed")


def test_a_counting_source_whose_slot_is_killed_gives_each_number_once(spark: Any, tmp_path: Path) -> None:
    """In at-least-once mode, too: snapshots of such a job stand between epochs."""
    output = str(tmp_path / "out")
    env = environment(spark, str(tmp_path / "checkpoints"), CheckpointingMode.AT_LEAST_ONCE)
    numbers = env.add_source(Numbers(RANGES, SIZE), "numbers", Types.LONG()).uid("numbers")
    numbers.key_by(lambda n: n % 10).map(str).sink_to(files(output)).uid("sink")
    master = env._submit("counting", None)
    kill_a_slot_once_there_is_output(master, output)
    master.result.result(300)
    assert sorted(map(int, read_output(output))) == list(range(RANGES * SIZE))


class BatchSink(SinkFunction, CheckpointedFunction):
    """Write batches, each to a file of its own that is named after its content."""

    def __init__(self, directory: Path, threshold: int) -> None:
        self._directory = directory
        self._threshold = threshold

    def initialize_state(self, context: Any) -> None:
        self._state = context.get_operator_state_store().get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self._waiting = list(self._state.get())
        if context.is_restored():
            (self._directory / f"restored-{time.monotonic_ns()}").write_text(str(len(self._waiting)))

    def invoke(self, value: int, context: Any) -> None:
        self._waiting.append(value)
        if len(self._waiting) >= self._threshold:
            self._write()

    def snapshot_state(self, context: Any) -> None:
        self._state.update(self._waiting)

    def close(self) -> None:
        if self._waiting:
            self._write()

    def _write(self) -> None:
        (self._directory / f"batch-{min(self._waiting)}").write_text("\n".join(map(str, self._waiting)))
        self._waiting = []


def test_what_waits_in_a_buffering_sink_survives(spark: Any, tmp_path: Path) -> None:
    """No batch is full before the slot is killed: what had come by then is in the checkpoint or nowhere."""
    count, batches, committed = 12_000, tmp_path / "batches", str(tmp_path / "out")
    batches.mkdir()
    env = environment(spark, str(tmp_path / "checkpoints"))
    numbers = events(env, count)
    numbers.add_sink(BatchSink(batches, count)).uid("batches")
    numbers.map(str).sink_to(files(committed)).uid("progress")
    master = env._submit("buffering", None)
    kill_a_slot_once_there_is_output(master, committed)
    master.result.result(300)
    written = [int(line) for path in batches.glob("batch-*") for line in path.read_text().splitlines()]
    assert sorted(written) == list(range(1, count + 1))
    restored = [int(path.read_text()) for path in batches.glob("restored-*")]
    assert sum(restored) > 0, "nothing was in the buffers: the test proves nothing"


class EpochCounter(ProgressView):
    """Count the epochs."""

    epochs = 0

    def epoch_finished(self, summary: EpochSummary) -> None:
        self.epochs += 1


class Sleepy(SourceFunction):
    """Emit a number when a file of that name is there; sleep until then."""

    def __init__(self, directory: Path, count: int) -> None:
        self._directory = directory
        self._count = count
        self._running = True

    def run(self, ctx: Any) -> None:
        for number in range(self._count):
            while self._running and not (self._directory / str(number)).exists():
                time.sleep(0.01)
            if self._running:
                ctx.collect(number)

    def cancel(self) -> None:
        self._running = False


def test_elements_of_a_source_that_sleeps_flow_and_its_sleep_costs_no_epochs(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, None)
    view = EpochCounter("sleepy")
    seen = tmp_path / "seen"
    seen.mkdir()
    env.add_source(Sleepy(tmp_path, 5)).key_by(lambda n: n).map(lambda n: (seen / str(n)).touch() or n).print()
    master = env._submit("sleepy", None, view)
    for number in range(5):
        time.sleep(0.3)  # epochs that come without a cause have time to come
        (tmp_path / str(number)).touch()
        wait_until((seen / str(number)).exists, f"element {number} has come to the next operator")
    master.result.result(120)
    assert view.epochs <= 12, "the source slept, and epochs ran"


def test_what_a_source_raises_fails_the_job_with_its_name_and_the_users_code(spark: Any) -> None:
    class Broken(SourceFunction):
        def run(self, ctx: Any) -> None:
            ctx.collect(1)
            raise ValueError("no such table")

        def cancel(self) -> None:
            pass

    env = environment(spark, None, restarts=0)
    env.add_source(Broken(), "orders").print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute()
    cause = caught.value.__cause__
    assert isinstance(cause, UserCodeError)
    assert cause.operator == "orders"
    assert 'raise ValueError("no such table")' in cause.user_traceback
    assert "/rekindle/runtime/" not in cause.user_traceback
