"""User code that raises and processes that are killed, on real Spark: the output stays golden."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, JobStatus, RestartStrategies
from rekindle.datastream import CheckpointingMode, KeyedProcessFunction
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import JobExecutionError, SlotLostError, UserCodeError
from support.balances import assert_exactly_once, environment, events, judge, numbering_job, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

pytestmark = pytest.mark.usefixtures("no_slots_left")

EVENTS = 8_000


class Once:
    """Do something once over all processes and attempts."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __call__(self) -> bool:
        try:
            os.close(os.open(self._marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def happened(self) -> bool:
        return self._marker.exists()


@pytest.mark.parametrize(
    ("at", "mode"),
    [
        *((at, CheckpointingMode.EXACTLY_ONCE) for at in (1, EVENTS // 2, EVENTS)),
        (EVENTS // 2, CheckpointingMode.AT_LEAST_ONCE),
    ],
)
def test_user_code_that_raises_once_changes_nothing(local_cluster: Any, tmp_path: Path, at: int, mode: Any) -> None:
    once = Once(tmp_path / "raised")

    def trouble(event: int, context: Any) -> None:
        if event == at and once():
            raise RuntimeError("this once")

    env = environment(local_cluster, str(tmp_path / "checkpoints"), mode)
    numbering_job(env, EVENTS, str(tmp_path / "out"), trouble)
    env.execute()
    assert once.happened()
    if mode is CheckpointingMode.EXACTLY_ONCE:
        assert_exactly_once(EVENTS, str(tmp_path / "out"))
    else:
        assert judge(EVENTS, str(tmp_path / "out")).lost == 0


def test_slots_killed_with_sigkill_lose_nothing(spark: Any, tmp_path: Path) -> None:
    rng = seeded()
    count = 40_000
    env = environment(spark, str(tmp_path / "checkpoints"))
    numbering_job(env, count, str(tmp_path / "out"))
    master = env._submit("killed", None)
    killed: set[int] = set()
    for _ in range(3):
        finished = len(read_output(str(tmp_path / "out"))) if (tmp_path / "out").exists() else 0
        wait_until(
            lambda finished=finished: (
                master.result.done()
                or ((tmp_path / "out").exists() and len(read_output(str(tmp_path / "out"))) > finished)
            ),
            "more output is committed",
        )
        assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
        wait_until(lambda: len(master.slot_pids()) == 2, "both slots run")
        victim = rng.choice(sorted(master.slot_pids().values()))
        os.kill(victim, signal.SIGKILL)
        killed.add(victim)
        wait_until(lambda victim=victim: victim not in master.slot_pids().values(), "the loss is noticed")
    master.result.result(300)
    assert len(killed) == 3
    assert_exactly_once(count, str(tmp_path / "out"))


@pytest.mark.parametrize("mode", list(CheckpointingMode))
def test_killed_slots_lose_nothing(local_cluster: PacedCluster, tmp_path: Path, mode: Any) -> None:
    rng, count, out = seeded(), 20_000, tmp_path / "out"
    env = environment(local_cluster, str(tmp_path / "checkpoints"), mode)
    numbering_job(env, count, str(out))
    master = env._submit("killed", None)
    for _ in range(3):
        finished = len(read_output(str(out)))
        wait_until(
            lambda finished=finished: master.result.done() or len(read_output(str(out))) > finished,
            "more output is committed",
        )
        assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
        local_cluster.kill_one(rng)
    master.result.result(300)
    if mode is CheckpointingMode.EXACTLY_ONCE:
        assert_exactly_once(count, str(out))
    else:
        assert judge(count, str(out)).lost == 0


class FailsToPickle:
    """A state value whose pickling raises, once."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker
        self.count = 0

    def __reduce__(self) -> Any:
        if self.count > 2 and Once(self._marker)():
            raise RuntimeError("raised during the snapshot")
        return _rebuild, (self._marker, self.count)


def _rebuild(marker: Path, count: int) -> FailsToPickle:
    value = FailsToPickle(marker)
    value.count = count
    return value


class CountsInAnObject(KeyedProcessFunction):
    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def open(self, runtime_context: Any) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("object", None))

    def process_element(self, value: int, ctx: Any) -> Any:
        current = self._state.value() or FailsToPickle(self._marker)
        current.count += 1
        self._state.update(current)
        yield value, current.count


def test_user_code_that_raises_during_a_snapshot_changes_nothing(local_cluster: Any, tmp_path: Path) -> None:
    raises_during_a_snapshot(local_cluster, tmp_path, keys=10, count=200)


def test_user_code_that_raises_in_the_fork_of_a_snapshot_changes_nothing(spark: Any, tmp_path: Path) -> None:
    raises_during_a_snapshot(spark, tmp_path, keys=6_000, count=30_000)


def raises_during_a_snapshot(cluster: Any, tmp_path: Path, keys: int, count: int) -> None:
    """Let the state of every key be an object, the pickling of one of which raises once."""
    env = environment(cluster, str(tmp_path / "checkpoints"), rekindle_epoch_max__records=str(max(50, count // 5)))
    stream = events(env, count).key_by(lambda n: n % keys).process(CountsInAnObject(tmp_path / "raised"))
    per_key: dict[int, list[int]] = {}
    for value, number in stream.execute_and_collect():
        per_key.setdefault(value % keys, []).append(number)
    assert (tmp_path / "raised").exists()
    assert {key: sorted(numbers) for key, numbers in per_key.items()} == {
        key: list(range(1, count // keys + 1)) for key in range(keys)
    }


def test_a_job_that_keeps_failing_gives_up_and_shows_the_users_traceback(local_cluster: Any, tmp_path: Path) -> None:
    def broken(event: int, context: Any) -> None:
        if event == 77:
            raise ValueError("no such customer")

    env = environment(local_cluster, str(tmp_path / "checkpoints"), restarts=1)
    numbering_job(env, EVENTS, str(tmp_path / "out"), broken)
    client = env.execute_async("broken")
    with pytest.raises(JobExecutionError) as caught:
        client.get_job_execution_result().result(120)
    assert client.get_job_status().result() is JobStatus.FAILED
    cause = caught.value.__cause__
    assert isinstance(cause, UserCodeError)
    assert cause.operator == "numbering"
    assert cause.subtask in (0, 1)
    assert "ValueError: no such customer" in str(cause)
    assert 'raise ValueError("no such customer")' in cause.user_traceback
    assert "/rekindle/runtime/" not in cause.user_traceback, "only the user's own frames are of interest"


def test_without_checkpoints_there_is_no_restart(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    env.from_collection([1, 2]).map(lambda n: 1 // (n - 1)).print()
    with pytest.raises(JobExecutionError, match="ZeroDivisionError"):
        env.execute()


def test_a_killed_slot_without_restarts_fails_the_job_with_its_name(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, str(tmp_path / "checkpoints"), restarts=0)
    env.from_data_frame(spark.readStream.text(str(tmp_path)), uid="never").key_by(lambda r: r.value).map(
        lambda r: r
    ).print()
    master = env._submit("idle", None)
    wait_until(lambda: len(master.slot_pids()) == 2, "both slots run")
    os.kill(master.slot_pids()[1], signal.SIGKILL)
    with pytest.raises(JobExecutionError) as caught:
        master.result.result(60)
    assert isinstance(caught.value.__cause__, SlotLostError)
    assert "slot 1" in str(caught.value)


def test_results_of_execute_and_collect_are_not_repeated_after_a_failure(local_cluster: Any, tmp_path: Path) -> None:
    once = Once(tmp_path / "raised")

    def fail_once(n: int) -> int:
        if n == 5_500 and once():
            raise RuntimeError("this once")
        return n

    env = environment(local_cluster, str(tmp_path / "checkpoints"))
    stream = events(env, 6_000).map(fail_once).key_by(lambda n: n % 3).map(lambda n: n)
    assert sorted(stream.execute_and_collect()) == list(range(1, 6_001))
    assert once.happened()


def test_at_least_once_is_exactly_once_where_there_is_no_exchange(local_cluster: Any, tmp_path: Path) -> None:
    once = Once(tmp_path / "raised")

    def fail_once(n: int) -> int:
        if n == 5_500 and once():
            raise RuntimeError("this once")
        return n

    env = environment(local_cluster, str(tmp_path / "checkpoints"), CheckpointingMode.AT_LEAST_ONCE)
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    events(env, 6_000).map(fail_once).flat_map(lambda n: [n]).sink_to(sink.build())
    env.execute()
    assert once.happened()
    assert sorted(map(int, read_output(str(tmp_path / "out")))) == list(range(1, 6_001))
