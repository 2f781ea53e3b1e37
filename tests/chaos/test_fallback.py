"""Checkpoints that are damaged when they are needed: the one before stands in, or the job says what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies
from rekindle.datastream import ExternalizedCheckpointRetention, FileSystemCheckpointStorage, StreamExecutionEnvironment
from rekindle.exceptions import CheckpointCorruptError, JobExecutionError
from rekindle.runtime.master.views.progress import ProgressView
from support.balances import environment, judge, numbering_job, read_output
from support.left_behind import left_in
from support.processes import wait_until

EVENTS = 12_000
FALLBACK = {"execution_state__recovery_fallback__to__earlier": "true"}
ADVICE = "set execution.state-recovery.fallback-to-earlier to true"


def job(
    cluster: Any, directory: Path, trouble: Callable[[int, Any], None] | None = None, retained: int = 3, **settings: str
) -> StreamExecutionEnvironment:
    """Write the numbering job down, with checkpoints whose state is in files, and restarts without end."""
    storage = FileSystemCheckpointStorage(f"file://{directory}/checkpoints", file_state_size_threshold=0)
    settings["state_checkpoints_num__retained"] = str(retained)
    env = environment(cluster, storage, **settings)
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    numbering_job(env, EVENTS, str(directory / "out"), trouble)
    return env


def completed(directory: Path) -> list[Path]:
    """List the checkpoints there are, newest first."""
    found = [path.parent for path in (directory / "checkpoints").glob("*/chk-*/_metadata")]
    return sorted(found, key=lambda path: int(path.name.removeprefix("chk-")), reverse=True)


def damage(checkpoint: Path) -> str:
    """Change a byte of a slot's state; give the file's name."""
    file = sorted(checkpoint.glob("slot-*"))[0]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    return str(file)


class Damager(ProgressView):
    """Damages some of the newest checkpoints between the first failure and the restart."""

    def __init__(self, directory: Path, count: int) -> None:
        super().__init__("damaged")
        self._directory = directory
        self._count = count
        self.files: list[str] = []
        self.failures: list[BaseException] = []

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        if not self.failures:
            self.files = [damage(checkpoint) for checkpoint in completed(self._directory)[: self._count]]
        self.failures.append(error)


def failing_once(directory: Path) -> Callable[[int, Any], None]:
    """Make a function fail, once, when three checkpoints are retained."""
    marker = directory / "raised"

    def trouble(event: int, context: Any) -> None:
        if event > EVENTS // 2 and not marker.exists() and len(completed(directory)) >= 3:
            marker.write_text("x")
            raise RuntimeError("this once")

    return trouble


def test_a_restart_goes_back_past_damaged_checkpoints(
    local_cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = job(local_cluster, tmp_path, failing_once(tmp_path), **FALLBACK)
    view = Damager(tmp_path, 2)
    with caplog.at_level(logging.WARNING, "rekindle"):
        env._submit("damaged", None, view).result.result(300)
    verdict = judge(EVENTS, str(tmp_path / "out"))
    assert (verdict.lost, verdict.wrong_sums) == (0, 0)
    assert len(view.files) == 2
    warnings = [message for message in caplog.messages if "is used instead" in message]
    assert [file in warning for file, warning in zip(view.files, warnings, strict=True)] == [True, True]
    assert all("may be written again" in warning for warning in warnings)
    assert left_in(tmp_path / "checkpoints") == []


def test_without_the_option_the_job_fails_with_file_and_advice(local_cluster: Any, tmp_path: Path) -> None:
    view = Damager(tmp_path, 1)
    with pytest.raises(JobExecutionError) as caught:
        job(local_cluster, tmp_path, failing_once(tmp_path))._submit("damaged", None, view).result.result(300)
    assert isinstance(caught.value.__cause__, CheckpointCorruptError)
    assert view.files[0] in str(caught.value)
    assert ADVICE in str(caught.value)
    assert len(view.failures) == 3, "it was tried once more, and no more"


def test_where_all_are_damaged_the_job_fails_and_keeps_what_it_has(local_cluster: Any, tmp_path: Path) -> None:
    env = job(local_cluster, tmp_path, failing_once(tmp_path), **FALLBACK)
    retention = ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
    env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    view = Damager(tmp_path, 3)
    with pytest.raises(JobExecutionError, match="cannot be read") as caught:
        env._submit("damaged", None, view).result.result(300)
    assert ADVICE not in str(caught.value)
    assert len(completed(tmp_path)) == 3


def test_a_start_goes_back_past_a_damaged_checkpoint(
    local_cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = job(local_cluster, tmp_path)
    retention = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    client = env.execute_async("cancelled")
    wait_until(lambda: len(completed(tmp_path)) >= 3, "there are checkpoints")
    client.cancel().result()
    kept = completed(tmp_path)
    damaged = damage(kept[0])
    kept[1].joinpath("_metadata").write_bytes(b"RKMD")

    resume = {"execution_state__recovery_path": str(kept[0].parent)}
    with pytest.raises(JobExecutionError) as caught:
        job(local_cluster, tmp_path, **resume).execute()
    assert damaged in str(caught.value)
    assert ADVICE in str(caught.value)
    with caplog.at_level(logging.WARNING, "rekindle"):
        job(local_cluster, tmp_path, **resume, **FALLBACK).execute()
    assert f"{kept[2]} is used instead" in caplog.text
    verdict = judge(EVENTS, str(tmp_path / "out"))
    assert (verdict.lost, verdict.wrong_sums) == (0, 0)
    assert completed(tmp_path) == kept, "what a job is started from is not its own"
    assert read_output(str(tmp_path / "out"))
