"""What is remembered of a job."""

from __future__ import annotations

import logging

import pytest

from rekindle.common import JobStatus
from rekindle.exceptions import SlotLostError, UserCodeError
from rekindle.runtime.master.views.job_history import HistoryObserver, JobHistory, SlotPlace
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import EpochSummary, LogView
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.testing import ManualClock


def test_the_states_of_a_job_are_noted_with_their_times() -> None:
    clock = ManualClock(100)
    history = JobHistory(clock)
    assert (history.status, history.start_time, history.end_time) == (JobStatus.CREATED, 100, None)
    clock.advance(1)
    history.enter(JobStatus.RUNNING)
    clock.advance(1)
    history.enter(JobStatus.RUNNING)  # nothing new
    history.enter(JobStatus.RESTARTING)
    clock.advance(1)
    history.enter(JobStatus.RUNNING)
    clock.advance(1)
    history.enter(JobStatus.FINISHED)
    clock.advance(50)
    times = history.status_times()
    assert {name: time for name, time in times.items() if time} == {
        "INITIALIZING": 100,
        "CREATED": 100,
        "RESTARTING": 102,
        "RUNNING": 103,
        "FINISHED": 104,
    }
    assert times.keys() == {"INITIALIZING", *(status.name for status in JobStatus)}
    assert (history.end_time, history.duration()) == (104, 4)


def test_the_slots_run_from_their_readiness_until_something_ends_them() -> None:
    history = JobHistory(ManualClock())
    history.enter(JobStatus.RUNNING)
    assert not history.slots_running
    history.attempt_started(0, None)
    assert history.slots_running
    history.failed(RuntimeError(), 10)
    assert not history.slots_running
    history.enter(JobStatus.RESTARTING)
    history.enter(JobStatus.RUNNING)
    assert not history.slots_running
    history.attempt_started(1, 7)
    history.enter(JobStatus.CANCELLING)
    assert history.slots_running
    history.enter(JobStatus.CANCELED)
    assert not history.slots_running
    assert history.attempt is not None
    assert (history.attempt.attempt, history.attempt.restored_checkpoint) == (1, 7)


def test_failures_say_where_they_were() -> None:
    places = {0: SlotPlace("a", 1), 1: SlotPlace("b", 2)}
    clock = ManualClock(5)
    history = JobHistory(clock, lambda: places)
    history.attempt_started(0, None)
    history.failed(UserCodeError("Map", 1, "ValueError: x", "Traceback"), 100)
    history.attempt_started(1, None)
    history.failed(SlotLostError("slot 0 was lost", 0), None)
    history.attempt_started(2, None)
    history.failed(RuntimeError("Spark"), 0)
    spark, lost, user = history.exceptions()
    assert (user.operator, user.subtask, user.place, user.restart_delay_ms) == ("Map", 1, SlotPlace("b", 2), 100)
    assert (lost.operator, lost.subtask, lost.place, lost.restart_delay_ms) == (None, 0, SlotPlace("a", 1), None)
    assert (spark.operator, spark.subtask, spark.place, spark.restart_delay_ms) == (None, None, None, 0)
    assert [failure.attempt for failure in (user, lost, spark)] == [0, 1, 2]
    assert history.restarts == 2


def test_a_failure_before_slots_are_ready_names_no_process_of_the_attempt_before() -> None:
    history = JobHistory(ManualClock(), lambda: {0: SlotPlace("a", 1)})
    history.attempt_started(0, None)
    history.failed(SlotLostError("slot 0 was lost", 0), 100)
    history.failed(SlotLostError("slot 0 was lost", 0), 100)
    second, first = history.exceptions()
    assert (first.place, second.place) == (SlotPlace("a", 1), None)


def test_the_oldest_failures_are_forgotten() -> None:
    history = JobHistory(ManualClock(), limit=2)
    for number in range(2):
        history.failed(RuntimeError(str(number)), 0)
    assert not history.exceptions_forgotten
    history.failed(RuntimeError("2"), 0)
    assert [failure.text for failure in history.exceptions()] == ["2", "1"]
    assert history.exceptions_forgotten


def test_what_a_job_failed_with_is_noted_once() -> None:
    history = JobHistory(ManualClock())
    history.failed(RuntimeError("first"), 0)
    history.given_up(RuntimeError("second"))
    history.given_up(RuntimeError("because of the second"))
    assert [(failure.text, failure.restart_delay_ms) for failure in history.exceptions()] == [
        ("second", None),
        ("first", 0),
    ]


def test_epochs_are_summed_up() -> None:
    history = JobHistory(ManualClock())
    assert history.progress().watermark == MIN_WATERMARK
    history.attempt_started(0, None)
    history.epoch_finished(EpochSummary(1, 5, 10, 0.5, 3))
    history.epoch_finished(EpochSummary(2, 5, 20, 0.5, 9))
    progress = history.progress()
    assert (progress.epochs, progress.records_in, progress.watermark) == (2, 30, 9)
    assert progress.records_in_per_second > 0
    history.enter(JobStatus.FINISHED)
    assert history.progress().records_in_per_second == 0


def test_a_history_hears_what_a_view_is_told_and_the_view_hears_it_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rekindle")
    history = JobHistory(ManualClock())
    view = JobObservers(LogView("a job"), first=(HistoryObserver(history),))
    view.start()
    view.attempt_started(0, None)
    view.epoch_finished(EpochSummary(1, 5, 10, 0.5, 3))
    view.notice("long work")
    view.failed(RuntimeError("no"), 5)
    view.ended("FAILED")
    lines = "\n".join(caplog.messages)
    for part in ("attempt 1 runs", "long work", "failure (restart in 5 ms): no", "FAILED"):
        assert part in lines
    assert history.attempt is not None
    assert history.progress().epochs == 1
    assert len(history.exceptions()) == 1
