"""Timers in RocksDB: slots are killed, parallelism and backend change, and every timer still fires exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, JobStatus, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.datastream.state import ValueStateDescriptor
from support.balances import environment, key_of, read_output
from support.left_behind import left_in
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

HEAP = {"state_backend": "hashmap"}
IN_MEMORY = {"state_backend": "rocksdb", "state_backend_incremental": "true"}
IN_ROCKSDB = IN_MEMORY | {
    "state_backend_rocksdb_timer-service_factory": "ROCKSDB",
    "state_backend_rocksdb_timer-service_cache-size": "1",
}
STEP = 3
AHEAD = 5_000
"""Timers are up to twice as far ahead of the records that set them: thousands are set at a time."""


class Stamps(TimestampAssigner):
    """Let each event happen a little later than the one before it."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * STEP


def firing_time(event: int) -> int:
    """Return the time of the timer of an event; no two have the same."""
    return event * STEP + AHEAD * (event % 3)


class Alarms(KeyedProcessFunction):
    """Set a timer for each event, and take back one in five when the next event of its key comes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        last = self._last.value()
        if last is not None and last % 5 == 0:
            ctx.timer_service().delete_event_time_timer(firing_time(last) + 10 * AHEAD)
        self._last.update(value)
        ctx.timer_service().register_event_time_timer(firing_time(value))
        ctx.timer_service().register_event_time_timer(firing_time(value))
        if value % 5 == 0:
            ctx.timer_service().register_event_time_timer(firing_time(value) + 10 * AHEAD)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()},{timestamp}"


def alarms(env: StreamExecutionEnvironment, count: int, output: Path) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    events = env.from_source(NumberSequenceSource(1, count), strategy, "events").uid("events")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    events.key_by(key_of, Types.STRING()).process(Alarms()).uid("alarms").sink_to(sink.build()).uid("sink")


def expected(count: int) -> list[str]:
    """Return what fires: the timer of each event, and those of the last events of keys that are not taken back."""
    last = {key_of(event): event for event in range(1, count + 1)}
    fires = [f"{key_of(event)},{firing_time(event)}" for event in range(1, count + 1)]
    late = [f"{key},{firing_time(event) + 10 * AHEAD}" for key, event in last.items() if event % 5 == 0]
    return sorted(fires + late)


def wait_for_more_output(master: Any, directory: Path, count: int) -> None:
    before = len(read_output(str(directory)))
    wait_until(lambda: master.result.done() or len(read_output(str(directory))) > before, "more output is committed")
    assert not master.result.done(), "the job was over too early: the test proves nothing"


@pytest.mark.parametrize("local", [False, True], ids=["from the checkpoint", "from local copies"])
def test_timers_of_killed_slots_fire_exactly_once(local_cluster: PacedCluster, tmp_path: Path, local: bool) -> None:
    rng = seeded()
    count, out = 10_000, tmp_path / "out"
    recovery = {"state_backend_local__recovery": "true"} if local else {}
    env = environment(local_cluster, str(tmp_path / "checkpoints"), **IN_ROCKSDB, **recovery)
    alarms(env, count, out)
    master = env._submit("killed", None)
    for _ in range(3):
        wait_for_more_output(master, out, count)
        local_cluster.kill_one(rng)
    master.result.result(300)
    assert sorted(read_output(str(out))) == expected(count)
    assert left_in(tmp_path / "checkpoints") == []


def test_timers_fire_exactly_once_whatever_the_parallelism_and_wherever_they_are(
    local_cluster: PacedCluster, tmp_path: Path
) -> None:
    count, out, checkpoints = 20_000, tmp_path / "out", tmp_path / "checkpoints"
    steps = [(1, IN_ROCKSDB), (2, IN_ROCKSDB), (4, HEAP), (3, IN_ROCKSDB), (2, IN_MEMORY), (1, IN_ROCKSDB)]
    start = None
    for number, (parallelism, settings) in enumerate(steps):
        last = number == len(steps) - 1
        restore = {"rekindle_epoch_max__records": str(count if last else 1_500)}
        if start is not None:
            restore["execution_state__recovery_path"] = start
        env = environment(local_cluster, str(checkpoints), **settings, **restore)
        env.set_parallelism(parallelism)
        config = env.get_checkpoint_config()
        config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
        alarms(env, count, out)
        if last:
            env.execute()
            break
        client = env.execute_async(f"step {number}")
        master = client._master
        wait_for_more_output(master, out, count)
        if number % 2:
            start = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(60)
        else:
            master.cancel()
            wait_until(master.result.done, "the job is cancelled")
            assert master.status is JobStatus.CANCELED
            start = str(checkpoints)
    assert sorted(read_output(str(out))) == expected(count)
