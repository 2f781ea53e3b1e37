"""Stopping a job with a savepoint: how the job ends, what cannot be asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus, RestartStrategies
from rekindle.contracts.job.savepoint_format_type import SavepointFormatType
from rekindle.datastream import (
    StreamExecutionEnvironment,
)
from rekindle.exceptions import ConfigurationError, JobCancelledError, JobFencedError, StopFailedError
from rekindle.runtime.master.attempts.attempt_events import (
    CompleteSavepoint,
    End,
    Outcome,
    OutputCommitted,
    PlaceBarrier,
    ShowStopSavepoint,
    SnapshotTaken,
    Woken,
)
from rekindle.runtime.master.checkpoints.stopping import StopMode, Stopping
from rekindle.runtime.master.checkpoints.storage_orders import MetadataStored
from rekindle.runtime.master.client import LocalJobClient
from rekindle.runtime.master.collected_records import CollectedRecords
from rekindle.runtime.wire import messages as m
from support.attempts import machine
from support.balances import assert_exactly_once, environment, events, judge, numbering_job, read_output
from support.in_process_job import collect
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.slot_snapshots import snapshot, stored
from support.stopped_job import EVENTS, SLOW, Job, hidden, savepoint_orders

__all__ = ["cluster"]


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


# --- how a job ends ---


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_a_stopped_job_is_finished_its_output_committed_and_another_goes_on(job: Job, drain: bool) -> None:
    master = job.started()
    client = LocalJobClient(master)
    location = client.stop_with_savepoint(drain, None, SavepointFormatType.NATIVE).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    client.get_job_execution_result().result()
    assert Path(location).parent == job.savepoints
    assert hidden(job.output) == [], "nothing is pending"
    assert judge(EVENTS, str(job.output)).duplicated == 0
    job.check_rest(location)


def test_a_job_that_is_cancelled_with_a_savepoint_leaves_its_last_output_to_the_next(job: Job) -> None:
    client = LocalJobClient(job.started())
    savepoints: set[int] = set()

    def hears(slot: int, message: m.ToMaster) -> bool:  # from now on no checkpoint completes, so that output waits
        return not isinstance(message, m.SnapshotDone) or message.checkpoint_id in savepoints

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return True

    job.cluster.hears, job.cluster.obeys = hears, obeys
    wait_until(lambda: hidden(job.output), "some output waits for a checkpoint")
    location = client.cancel_with_savepoint().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert hidden(job.output), "some output is pending"
    before = len(read_output(str(job.output)))
    job.cluster.hears = lambda slot, message: True
    job.check_rest(location)
    assert len(read_output(str(job.output))) > before


@pytest.mark.parametrize("how", ["stop", "drain", "cancel"])
def test_a_job_without_checkpoints_can_be_stopped_and_goes_on(job: Job, how: str) -> None:
    master = job.run(checkpoints=None)
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    if how == "cancel":
        location = master.cancel_with_savepoint(None).result(60)
        assert read_output(str(job.output)) == []
    else:
        location = master.stop_with_savepoint(None, how == "drain").result(60)
        assert read_output(str(job.output))
    job.check_rest(location)


def test_a_savepoint_in_passing_costs_a_job_without_checkpoints_no_output(job: Job) -> None:
    master = job.run(checkpoints=None)
    wait_until(lambda: job.output.exists() and hidden(job.output), "output has begun")
    master.trigger_savepoint(None).result(60)
    master.result.result(60)
    assert_exactly_once(EVENTS, str(job.output))


def test_a_job_stopped_at_the_end_of_its_input_is_finished_with_that_savepoint(job: Job) -> None:
    futures: list[Any] = []

    def hears(slot: int, message: m.ToMaster) -> bool:
        if isinstance(message, m.EpochReport) and message.finished and not futures:
            futures.append(job.cluster.masters[0].stop_with_savepoint(None, False))
        return True

    job.cluster.hears = hears
    job.run().result.result(60)
    [future] = futures
    location = future.result(0)
    assert_exactly_once(EVENTS, str(job.output))
    job.run(location).result.result(60)
    assert_exactly_once(EVENTS, str(job.output))


def test_a_checkpoint_that_completes_after_the_last_savepoint_changes_nothing(job: Job) -> None:
    master = job.started()
    late: list[tuple[int, m.SnapshotDone]] = []
    savepoints: set[int] = set()

    def hears(slot: int, message: m.ToMaster) -> bool:
        if isinstance(message, m.SnapshotDone) and message.checkpoint_id not in savepoints:
            late.append((slot, message))
            return False
        return True

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        elif isinstance(order, m.NotifyComplete) and order.checkpoint_id in savepoints and slot == 1:
            for sender, message in late:
                job.cluster.listener.slot_said(sender, message)
        return True

    job.cluster.hears, job.cluster.obeys = hears, obeys
    wait_until(lambda: len(late) == 2, "a checkpoint is under way")
    location = master.stop_with_savepoint(None, False).result(60)
    assert master.status is JobStatus.FINISHED
    assert hidden(job.output) == []
    job.cluster.hears, job.cluster.obeys = (lambda slot, message: True), (lambda slot, order: True)
    job.check_rest(location)


def test_a_checkpoint_that_fails_after_the_last_savepoint_is_complete_changes_nothing(job: Job) -> None:
    master = job.started(restarts=0)
    late: list[tuple[int, m.SnapshotDone]] = []
    savepoints: set[int] = set()

    def hears(slot: int, message: m.ToMaster) -> bool:
        if isinstance(message, m.SnapshotDone) and message.checkpoint_id not in savepoints:
            late.append((slot, message))
            return False
        return True

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        elif isinstance(order, m.NotifyComplete) and order.checkpoint_id in savepoints and slot == 1:
            sender, done = late[0]
            job.cluster.listener.slot_said(sender, m.SnapshotFailed(done.attempt, done.checkpoint_id, "disk full"))
            wait_until(lambda: master.checkpoint_statistics().counts.failed, "the job master has heard of it")
        return True

    job.cluster.hears, job.cluster.obeys = hears, obeys
    wait_until(lambda: len(late) == 2, "a checkpoint is under way")
    location = master.stop_with_savepoint(None, False).result(60)
    assert master.status is JobStatus.FINISHED
    assert hidden(job.output) == []
    job.cluster.hears, job.cluster.obeys = (lambda slot, message: True), (lambda slot, order: True)
    job.check_rest(location)


@pytest.mark.parametrize("failure", [False, True], ids=["cancelled", "restarted"])
def test_a_savepoint_in_passing_can_be_restored_whatever_became_of_its_job(job: Job, failure: bool) -> None:
    master = job.started()
    savepoints: set[int] = set()

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return True

    def hears(slot: int, message: m.ToMaster) -> bool:  # no checkpoint completes from now on
        return not isinstance(message, m.SnapshotDone) or message.checkpoint_id in savepoints

    job.cluster.hears, job.cluster.obeys = hears, obeys
    wait_until(lambda: hidden(job.output), "some output waits for a checkpoint")
    location = master.trigger_savepoint(None).result(60)
    if failure:
        job.cluster.slots[1].lose()
        wait_until(lambda: len(job.cluster.attempts) == 2, "the job runs again, and has removed what it left pending")
    job.cluster.hears = lambda slot, message: True
    master.cancel()
    master.result.exception(60)
    job.run(location, restarts=0).result.result(60)


def test_what_was_collected_until_the_stop_is_shown_and_nothing_else(cluster: Cluster, tmp_path: Path) -> None:
    env = environment(None, str(tmp_path / "checkpoints"), **SLOW)
    collect(events(env, EVENTS))
    collected = CollectedRecords(held_back=True)
    master = cluster.submit(env, collected)
    records = iter(collected)
    seen = [next(records)]
    location = master.stop_with_savepoint(str(tmp_path), False).result(60)
    seen += records
    env = environment(None, None, execution_state__recovery_path=location)
    collect(events(env, EVENTS))
    rest = CollectedRecords()
    cluster.submit(env, rest).result.result(60)
    assert 0 < len(seen) < EVENTS
    assert sorted([*seen, *rest]) == list(range(1, EVENTS + 1))


# --- what cannot be ---


def test_there_is_one_stop_at_a_time_and_none_after_the_end(job: Job) -> None:
    master = job.started()
    savepoint_orders(job, lambda slot, order: slot == 0)
    first = master.stop_with_savepoint(None, False)
    for second in (master.stop_with_savepoint(None, True), master.cancel_with_savepoint(None)):
        with pytest.raises(StopFailedError, match="being stopped already"):
            second.result(0)
    master.cancel()
    with pytest.raises(StopFailedError, match=r"the job ended \(CANCELED\) before it could be stopped"):
        first.result(60)
    with pytest.raises(StopFailedError, match=r"the job had ended \(CANCELED\)"):
        master.stop_with_savepoint(None, False).result(0)


def test_a_request_that_was_cancelled_in_time_is_forgotten() -> None:
    stopping = Stopping()
    assert stopping.request(StopMode.DRAIN, "/savepoints").cancel()
    assert stopping.begin() is None
    assert not stopping.waiting
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    assert stopping.begin() is not None
    assert not future.cancel(), "it has begun"


def test_a_request_that_is_cancelled_while_the_job_ends_is_no_error() -> None:
    stopping = Stopping()
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    running = future.running

    def cancelled_meanwhile() -> bool:
        said = running()
        future.cancel()
        return said

    future.running = cancelled_meanwhile  # type: ignore[method-assign]
    stopping.job_ended("FINISHED")
    assert future.cancelled()


def test_a_request_that_has_not_begun_when_the_job_ends_is_told_and_cannot_be_cancelled_any_more() -> None:
    stopping = Stopping()
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    stopping.job_ended("FINISHED")
    assert not future.cancel()
    with pytest.raises(StopFailedError, match=r"the job ended \(FINISHED\) before it could be stopped"):
        future.result(0)


def test_a_job_is_cancelled_before_its_savepoint_is_shown() -> None:
    stopping = Stopping()
    stopping.request(StopMode.CANCEL, "/savepoints")
    subject = machine(stopping=stopping)
    [barrier] = subject.handle(1, Woken())
    assert isinstance(barrier, PlaceBarrier)
    location = barrier.order.savepoint
    assert location is not None
    subject.handle(2, SnapshotTaken(0, 1, 0, snapshot()))
    subject.handle(3, MetadataStored(1, stored(1)))
    ended = [CompleteSavepoint(1), End(Outcome.CANCELLED), ShowStopSavepoint(location)]
    assert subject.handle(4, OutputCommitted(0, 1)) == ended, "showing it may fail: nobody may read any more"


def test_cancelling_a_job_that_another_driver_goes_on_with_changes_nothing(job: Job) -> None:
    master = job.started(**job.shared)
    job.taken_over(master)
    with pytest.raises(JobFencedError):
        master.result.result(60)
    master.cancel()
    assert master.status is JobStatus.SUSPENDED


def test_a_savepoint_that_cannot_be_read_again_is_no_end() -> None:
    stopping = Stopping()
    future = stopping.request(StopMode.SUSPEND, "/savepoints")
    stopping.begin()
    stopping.completed(5, "/savepoints/one")
    assert not stopping.ends_with(4), "an earlier checkpoint was restored in its place"
    with pytest.raises(StopFailedError, match="goes on: its savepoint /savepoints/one could not be read"):
        future.result(0)
    assert not stopping.ends_with(4)


def test_without_a_directory_or_in_a_batch_it_raises_at_once(cluster: Cluster, tmp_path: Path) -> None:
    env = environment(None, None)
    numbering_job(env, 10, str(tmp_path / "out"))
    master = cluster.submit(env)
    for request in (
        lambda: master.stop_with_savepoint(None, False),
        lambda: master.cancel_with_savepoint(None),
    ):
        with pytest.raises(ConfigurationError, match=r"state\.savepoints\.dir"):
            request()
    with pytest.raises(ConfigurationError, match="relative"):
        master.stop_with_savepoint("here", True)
    master.result.result(60)
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": "BATCH", "rekindle.progress": "none"})
    )
    env.set_restart_strategy(RestartStrategies.no_restart())
    numbering_job(env, 10, str(tmp_path / "batch"))
    batch = cluster.submit(env)
    with pytest.raises(ConfigurationError, match="runs as a batch"):
        batch.stop_with_savepoint(str(tmp_path), False)
