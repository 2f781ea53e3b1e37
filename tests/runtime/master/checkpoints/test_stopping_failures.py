"""Failures while a job is being stopped with a savepoint: nothing is lost, and the job ends or goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.common import JobStatus
from rekindle.exceptions import CheckpointError, JobFencedError, StopFailedError
from rekindle.runtime.wire import messages as m
from support.balances import read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.stopped_job import Job, hidden, savepoint_orders

__all__ = ["cluster"]


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


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
    with pytest.raises(StopFailedError, match="goes back to its last checkpoint"):
        master.stop_with_savepoint(str(tmp_path / "file"), True).result(60)
    wait_until(lambda: len(job.cluster.attempts) == 2, "it has begun again, though it has no restarts")
    assert job.cluster.attempts[1] is not None
    job.check_rest(master.stop_with_savepoint(None, True).result(60))


def test_when_the_savepoint_of_a_drain_fails_nothing_is_committed_without_checkpoints(job: Job, tmp_path: Path) -> None:
    commits: list[int] = []

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.CommitFinal):
            commits.append(len(job.cluster.attempts))
        return True

    job.cluster.obeys = obeys
    master = job.run(checkpoints=None, rekindle_epoch_max__records="60")
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StopFailedError):
        master.stop_with_savepoint(str(tmp_path / "file"), True).result(60)
    master.result.result(60)
    assert commits == [2, 2], "only the second attempt commits, which has read all input"
    job.check_output()


def test_a_drain_whose_savepoint_fails_does_not_promise_that_the_job_goes_on(job: Job, tmp_path: Path) -> None:
    master = job.run(checkpoints=None, restarts=0)
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StopFailedError, match="goes back to its last checkpoint, if it may be restarted"):
        master.stop_with_savepoint(str(tmp_path / "file"), True).result(60)
    assert master.result.exception(60) is not None


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


def test_a_job_cancelled_with_a_savepoint_takes_another_if_a_slot_is_lost_before_it_is_safe(job: Job) -> None:
    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 1 and len(job.cluster.attempts) == 1:
            job.cluster.slots[1].lose()
            return False
        return True

    master = job.started()
    savepoint_orders(job, then)
    location = master.cancel_with_savepoint(None).result(60)
    assert master.status is JobStatus.CANCELED
    assert len(job.cluster.attempts) == 2
    job.cluster.obeys = lambda slot, order: True
    job.check_rest(location, may_keep=True)  # slot 0 may have kept what the first savepoint referred to


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


def test_a_slot_lost_before_what_a_savepoint_in_passing_refers_to_is_safe_fails_the_savepoint(job: Job) -> None:
    lost: list[int] = []

    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.NotifyComplete) and slot == 1 and not lost:
            lost.append(order.checkpoint_id)
            job.cluster.slots[1].lose()
            return False
        return True

    master = job.started()
    savepoint_orders(job, then)
    with pytest.raises(CheckpointError, match="before the output that the savepoint refers to was safe"):
        master.trigger_savepoint(None).result(60)
    wait_until(lambda: list(job.savepoints.iterdir()) == [], "nothing is left of it")
    assert master.trigger_savepoint(None).result(60), "the job goes on, and another may be taken"
    job.check_rest(master.stop_with_savepoint(None, False).result(60), may_keep=True)


# --- when another driver takes over ---


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_a_job_that_others_may_take_over_is_stopped_as_any_other(job: Job, drain: bool) -> None:
    master = job.started(**job.shared)
    location = master.stop_with_savepoint(None, drain).result(60)
    assert master.status is JobStatus.FINISHED
    job.check_rest(location)


def test_a_job_that_is_taken_over_while_it_is_stopped_is_left_to_the_other_driver(job: Job) -> None:
    def then(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and slot == 0:
            job.taken_over(master)
        return True

    master = job.started(**job.shared)
    savepoint_orders(job, then)
    with pytest.raises(StopFailedError):
        master.stop_with_savepoint(None, False).result(60)
    with pytest.raises(JobFencedError):
        master.result.result(60)
    assert master.status is JobStatus.SUSPENDED


# --- when nobody looks any more ---


def broken(*shown: object) -> None:
    raise BrokenPipeError("nobody reads any more")


def test_a_view_that_fails_does_not_keep_the_job_from_ending(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    master = job.started()
    monkeypatch.setattr(master._view._view, "ended", broken)
    future = master.stop_with_savepoint(None, False)
    assert master.result.result(60)
    assert future.result(0)


def test_a_view_that_fails_does_not_keep_the_job_from_being_cancelled(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    master = job.started()
    monkeypatch.setattr(master._view._view, "savepoint_completed", broken)
    assert master.cancel_with_savepoint(None).result(60)
    assert master.status is JobStatus.CANCELED
