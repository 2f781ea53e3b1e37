"""A checkpoint that fails has a line of its own, also where the job goes on without it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import CheckpointStorageError
from rekindle.runtime.master.progress import LogView
from support.in_process_job import DeclinedError, InProcessJob, collect


class Full(LocalCheckpointFiles):
    def write(self, path: str, source: BinaryIO) -> int:
        raise CheckpointStorageError(f"cannot write {path}: No space left on device")


@pytest.mark.parametrize(("tolerable", "lines"), [(1, 1), (0, 0)], ids=["tolerated", "fails the job, which is logged"])
def test_it_says_which_and_why(tmp_path: Path, caplog: pytest.LogCaptureFixture, tolerable: int, lines: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection([1, 2, 3]).key_by(lambda number: number).reduce(lambda a, b: a + b))
    options = CheckpointOptions(interval_ms=1, tolerable_failures=tolerable)
    with InProcessJob(env, files=Full(str(tmp_path)), options=options) as job:
        job._executor._failed = LogView("in process").checkpoint_failed
        job.run_to_end()
        with pytest.raises(DeclinedError):
            job.checkpoint()
    failed = [record for record in caplog.records if getattr(record, "event", None) == "checkpoint_failed"]
    assert len(failed) == lines
    for record in failed:
        assert record.levelname == "WARNING"
        message = record.getMessage()
        assert message.startswith("[in process] checkpoint 1 failed: DECLINED, a subtask declined it (slot 0: ")
        assert message.endswith("No space left on device); the job goes on")
