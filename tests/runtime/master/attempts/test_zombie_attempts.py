"""What a slot of an old attempt says late, to a job that has gone on without it; and that it would matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.wire import messages as m
from support.balances import Numbering, events, key_of
from support.in_process_job import InProcessJob, collect

COUNT = 3_000


def program() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(events(env, COUNT).key_by(key_of).process(Numbering()))
    return env


def wrong_keys(lines: list[str]) -> int:
    """Count the keys whose last count and sum are not those of all events."""
    last: dict[str, tuple[int, int]] = {}
    for line in lines:
        key, number, total = line.split(",")
        last[key] = max(last.get(key, (0, 0)), (int(number), int(total)))
    golden: dict[str, tuple[int, int]] = {}
    for event in range(1, COUNT + 1):
        number, total = golden.get(key_of(event), (0, 0))
        golden[key_of(event)] = number + 1, total + event
    return sum(last.get(key) != expected for key, expected in golden.items())


def story(directory: Path) -> int:
    """Let a slot of the first attempt acknowledge a checkpoint of the second; count what a third makes of it."""
    files = LocalCheckpointFiles(str(directory))
    with InProcessJob(program(), 2, files=files, attempt=0) as old:
        old.run_epoch(200)
        first = old.checkpoint()
        old.run_epoch(400)
        late_id = old.begin_checkpoint()
        late = [old._answers.get(timeout=30) for _ in old.slots]
        with InProcessJob(program(), 2, files=files, restore=first, own=True, attempt=1) as new:
            new.run_epoch(300)
            assert new.begin_checkpoint() == late_id, "not even the id tells them apart"
            for slot, said in late:
                if slot == 0:
                    assert isinstance(said, m.SnapshotDone)
                    new.coordinator.acknowledge(new.clock.now(), said.attempt, late_id, slot, said.snapshot())
            second = new.finish_checkpoint(late_id)
    with InProcessJob(program(), 2, files=files, restore=second, own=True, attempt=2) as last:
        return wrong_keys(last.run_to_end())


def test_a_late_acknowledgement_of_an_old_attempt_changes_nothing(tmp_path: Path) -> None:
    assert story(tmp_path) == 0


def test_if_it_were_believed_records_would_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show that the test above would notice."""
    acknowledge = CheckpointCoordinator.acknowledge

    def believe(self: CheckpointCoordinator, now: int, attempt: int, *rest: Any) -> Any:
        return acknowledge(self, now, self.attempt, *rest)

    monkeypatch.setattr(CheckpointCoordinator, "acknowledge", believe)
    assert story(tmp_path) > 0
