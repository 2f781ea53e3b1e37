"""What users read when a job is cancelled or fails: where it can go on from, or why nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.storage import CheckpointFiles, LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Configuration, ExecutionConfig
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.program.continuing import StartedProgram
from rekindle.runtime.master.checkpoints.restart_advice import restart_advice
from rekindle.runtime.master.settings.job_settings import JobSettings, settle


def settings(**values: str) -> JobSettings:
    configuration = Configuration()
    for key, value in values.items():
        configuration.set_string(f"execution.checkpointing.{key}", value)
    return settle("job", "name", configuration, CheckpointConfig(configuration), ExecutionConfig())


def completed(number: int, files: CheckpointFiles | None, **kind: Any) -> CompletedCheckpoint:
    metadata = CheckpointMetadata(number, "job", "name", 0, 0, [], [], [])
    return CompletedCheckpoint(StoredCheckpoint(metadata, files, f"job/chk-{number}"), **kind)


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    program = StartedProgram("orders.py", ["--day", "monday"])
    monkeypatch.setattr("rekindle.runtime.master.checkpoints.restart_advice.this_program", lambda: program)


@pytest.fixture
def files(tmp_path: Path) -> CheckpointFiles:
    return LocalCheckpointFiles(str(tmp_path))


def test_the_newest_that_is_kept_is_named_with_how_to_start_from_it(files: CheckpointFiles) -> None:
    checkpoints = [completed(1, files), completed(2, files)]
    line = restart_advice(settings(interval="1 s", dir=files.root), checkpoints, checkpoints)
    path = f"{files.root}/job/chk-2"
    assert line == (
        f"Checkpoint 2 is kept: go on from it with 'rekindle run -s {path} orders.py --day monday', "
        f"or set execution.state-recovery.path to {path}"
    )


def test_what_the_job_was_started_from_is_named_if_nothing_is_newer(files: CheckpointFiles) -> None:
    line = restart_advice(settings(interval="1 s", dir=files.root), [completed(7, files, savepoint=True)], [])
    assert f"go on from it with 'rekindle run -s {files.root}/job/chk-7 orders.py --day monday'" in line


def test_a_job_that_keeps_nothing_says_how_to_keep_it(files: CheckpointFiles) -> None:
    line = restart_advice(settings(interval="1 s", dir=files.root), [completed(1, files), completed(2, files)], [])
    deleted = f"1 ({files.root}/job/chk-1), 2 ({files.root}/job/chk-2)"
    assert line.startswith(f"No checkpoint is left to start from: with the job, checkpoint {deleted} is deleted; set")
    assert "execution.checkpointing.externalized-checkpoint-retention" in line


def test_a_job_without_a_complete_one_says_so(files: CheckpointFiles) -> None:
    line = restart_advice(settings(interval="1 s", dir=files.root), [], [])
    assert line == "No checkpoint is left to start from: none was complete"


def test_a_job_with_checkpoints_in_memory_says_how_to_have_them_in_files() -> None:
    checkpoints = [completed(1, None)]
    line = restart_advice(settings(interval="1 s"), checkpoints, checkpoints)
    assert line.endswith("they were in memory; set execution.checkpointing.dir to have them in files")


def test_a_job_without_checkpoints_says_how_to_have_some() -> None:
    assert restart_advice(settings(), [], []).endswith("execution.checkpointing.interval turns them on")


@pytest.mark.parametrize("retained", [1, 2])
def test_a_checkpoint_that_cannot_be_read_is_no_place_to_start_from(files: CheckpointFiles, retained: int) -> None:
    checkpoints = [completed(1, files), completed(2, files)][-retained:]
    line = restart_advice(
        settings(interval="1 s", dir=files.root), checkpoints, checkpoints, unreadable=checkpoints[-1]
    )
    if retained == 2:
        assert line.startswith("Checkpoint 1 is kept: go on from it")
    else:
        path = f"{files.root}/job/chk-2"
        assert line == f"No checkpoint is left to start from: checkpoint 2 ({path}) cannot be read"


def test_nor_is_what_the_job_was_started_from_if_that_cannot_be_read(files: CheckpointFiles) -> None:
    origin = completed(7, files, savepoint=True)
    line = restart_advice(settings(interval="1 s", dir=files.root), [origin], [], unreadable=origin)
    path = f"{files.root}/job/chk-7"
    assert line == f"No checkpoint is left to start from: what the job was started from ({path}) cannot be read"


def test_after_a_cancel_with_savepoint_it_is_the_savepoint(tmp_path: Path) -> None:
    line = restart_advice(settings(), [], [], "file:/savepoints/savepoint-1")
    assert line.startswith("Savepoint file:/savepoints/savepoint-1 was taken at the end: go on from it with")
