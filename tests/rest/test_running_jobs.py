"""The jobs of a process, and what is kept of those that have ended."""

from __future__ import annotations

import gc
import weakref

import pytest

from rekindle.checkpoint.statistics_overview import CheckpointCounts, CheckpointsOverview
from rekindle.common import JobStatus
from rekindle.exceptions import CheckpointError
from rekindle.runtime.master.running_jobs import RunningJobs
from support.rest_jobs import JOB, FakeMaster


def job_id(number: int) -> str:
    return f"{number:032x}"


def test_jobs_are_found_by_their_id_and_listed_in_order() -> None:
    jobs = RunningJobs()
    masters = [FakeMaster(job_id(number)) for number in (3, 1, 2)]
    registered = [jobs.register(master) for master in masters]
    assert jobs.all() == registered
    assert jobs.find(job_id(1)) is registered[1]
    assert jobs.find(JOB) is None


def test_of_the_ended_jobs_the_last_are_kept_and_all_that_run() -> None:
    jobs = RunningJobs(kept=2)
    running = FakeMaster(job_id(0)).run()
    jobs.register(running)
    for number in range(1, 6):
        master = FakeMaster(job_id(number)).run()
        jobs.register(master)
        master.end(JobStatus.FINISHED)
    assert [job.job_id for job in jobs.all()] == [job_id(0), job_id(4), job_id(5)]


def test_an_ended_job_does_not_keep_its_master_alive() -> None:
    jobs = RunningJobs()
    master = FakeMaster().run()
    master.overview = CheckpointsOverview(counts=CheckpointCounts(completed=4))
    job = jobs.register(master)
    master.end(JobStatus.FINISHED)
    gone = weakref.ref(master)
    del master
    gc.collect()
    assert gone() is None
    assert job.checkpoint_statistics().counts.completed == 4
    assert job.ended
    assert job.read_metrics().operators == ()
    job.cancel()  # nothing happens
    for ask in (
        lambda: job.trigger_savepoint("/d"),
        lambda: job.cancel_with_savepoint("/d"),
        lambda: job.stop_with_savepoint("/d", False),
    ):
        with pytest.raises(CheckpointError, match=r"has ended \(FINISHED\)"):
            ask()


def test_a_job_whose_statistics_cannot_be_read_is_kept_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeMaster):
        def checkpoint_statistics(self) -> CheckpointsOverview:
            raise RuntimeError("broken")

    jobs = RunningJobs()
    master = Broken().run()
    job = jobs.register(master)
    master.end(JobStatus.FAILED)
    assert job.checkpoint_statistics() == CheckpointsOverview()
    assert "the statistics of job" in caplog.text
