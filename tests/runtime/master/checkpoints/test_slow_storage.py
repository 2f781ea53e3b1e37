"""A storage that takes its time: epochs go on meanwhile, and nothing is committed before it should be."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import JobStatus
from rekindle.exceptions import JobFencedError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.wire import messages as m
from support.balances import assert_exactly_once, read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.stopped_job import EVENTS, Job

__all__ = ["cluster"]

CONCURRENT = {"execution_checkpointing_max__concurrent__checkpoints": "3"}


class Gate:
    """Holds the storage while a file of some kind is created; keeps the order of those that were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.holds = ""  # files whose name begins like this are held; nothing is while it is empty
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.created: list[str] = []
        create = LocalCheckpointFiles.create

        def held(files: LocalCheckpointFiles, path: str, data: bytes) -> None:
            if self.holds and path.rpartition("/")[2].startswith(self.holds):
                self.reached.set()
                assert self.opened.wait(60)
            create(files, path, data)
            self.created.append(path)

        monkeypatch.setattr(LocalCheckpointFiles, "create", held)

    def checkpoints(self) -> list[int]:
        numbers = (
            paths.checkpoint_id_of(path.split("/")[-2]) for path in self.created if path.endswith(paths.METADATA)
        )
        return [number for number in numbers if number is not None]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


def _run_epochs(master: JobMaster) -> None:
    epochs = master.history.progress().epochs
    wait_until(lambda: master.history.progress().epochs >= epochs + 10, "epochs go on")


@pytest.mark.parametrize("holds", [paths.METADATA, "entry-"], ids=["metadata", "an entry of the log"])
def test_epochs_go_on_while_a_checkpoint_is_written_and_commits_keep_their_order(
    job: Job, gate: Gate, holds: str
) -> None:
    told: list[int] = []

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 0:
            told.append(order.checkpoint_id)
        return True

    job.cluster.obeys = obeys
    master = job.started(**CONCURRENT, **job.shared)
    gate.holds = holds
    assert gate.reached.wait(60)
    _run_epochs(master)  # in which slots do what was ordered before
    visible, heard = read_output(str(job.output)), len(told)
    _run_epochs(master)
    assert len(told) == heard, "what is not durable is not complete"
    assert read_output(str(job.output)) == visible, "nor is its output"
    assert master.checkpoint_statistics().counts.in_progress > 0, "one can look at it meanwhile"
    gate.holds = ""
    gate.opened.set()
    master.result.result(60)
    assert_exactly_once(EVENTS, str(job.output))
    assert told == sorted(told)
    assert set(told) <= set(gate.checkpoints())
    assert gate.checkpoints() == sorted(gate.checkpoints())
    assert len(job.cluster.attempts) == 1, "there was no failure"


def test_a_slot_is_lost_while_a_checkpoint_is_written_and_the_next_attempt_waits_for_the_outcome(
    job: Job, gate: Gate
) -> None:
    master = job.started(**job.shared)
    gate.holds = "entry-"
    assert gate.reached.wait(60)
    job.cluster.slots[1].lose()
    wait_until(lambda: master._attempt is not None and master._attempt._machine.outcome, "the attempt has failed")
    threading.Event().wait(0.1)
    assert len(job.cluster.attempts) == 1, "what is restored is not known yet"
    newest = gate.checkpoints()[-1]
    gate.holds = ""
    gate.opened.set()
    wait_until(lambda: len(job.cluster.attempts) == 2, "the job runs again")
    assert job.cluster.attempts[1] == newest, "it is complete: the log names it"
    master.result.result(60)
    assert_exactly_once(EVENTS, str(job.output))


def test_a_driver_that_is_fenced_while_its_checkpoint_is_written_commits_nothing(job: Job, gate: Gate) -> None:
    master = job.started(**job.shared)
    gate.holds = paths.METADATA
    assert gate.reached.wait(60)
    visible = read_output(str(job.output))
    job.taken_over(master)
    gate.opened.set()
    assert isinstance(master.result.exception(60), JobFencedError)
    assert master.status is JobStatus.SUSPENDED
    assert read_output(str(job.output)) == visible


def test_a_stop_waits_for_its_savepoint_and_no_epoch_begins_meanwhile(job: Job, gate: Gate) -> None:
    master = job.started()
    gate.holds = paths.METADATA
    stopped = master.stop_with_savepoint(None, drain=False)
    assert gate.reached.wait(60)
    wait_until(lambda: master._attempt is not None and master._attempt._machine._stop_id is not None, "it is stopped")
    epochs = master.history.progress().epochs
    threading.Event().wait(0.2)
    assert master.history.progress().epochs == epochs
    assert not stopped.done()
    gate.holds = ""
    gate.opened.set()
    job.check_rest(stopped.result(60))
