"""A checkpoint that fails has a line of its own, also where the job goes on without it."""

from __future__ import annotations

import pytest

from rekindle.checkpoint.options import CheckpointOptions
from rekindle.runtime.master.attempts.attempt_events import ShowCheckpointFailure, SnapshotDeclined, Woken
from rekindle.runtime.master.views.progress import LogView
from support.attempts import machine


@pytest.mark.parametrize(("tolerable", "lines"), [(1, 1), (0, 0)], ids=["tolerated", "fails the job, which is logged"])
def test_it_says_which_and_why(caplog: pytest.LogCaptureFixture, tolerable: int, lines: int) -> None:
    subject = machine(CheckpointOptions(interval_ms=10, tolerable_failures=tolerable))
    subject.handle(10, Woken())
    for news in subject.handle(11, SnapshotDeclined(0, 1, 0, "cannot write x: No space left on device")):
        if isinstance(news, ShowCheckpointFailure):
            LogView("in process").checkpoint_failed(news.checkpoint_id, news.reason, news.text)
    failed = [record for record in caplog.records if getattr(record, "event", None) == "checkpoint_failed"]
    assert len(failed) == lines
    for record in failed:
        assert record.levelname == "WARNING"
        message = record.getMessage()
        assert message.startswith("[in process] checkpoint 1 failed: DECLINED, a subtask declined it (slot 0: ")
        assert message.endswith("No space left on device); the job goes on")
