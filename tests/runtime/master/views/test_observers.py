"""Whatever observes a job cannot touch it: not the view, not the log, not the archive, not what listens to these."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from rekindle.common import JobStatus
from rekindle.logs.events import log_event
from rekindle.runtime.master.views.job_history import JobHistory
from rekindle.runtime.master.views.observer_guard import ObserverGuard
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import JobObserver, LogView, ProgressView
from rekindle.testing import ManualClock

HEARD = sorted(name for name, value in vars(JobObserver).items() if callable(value) and not name.startswith("_"))


def raising(error: BaseException) -> type[ProgressView]:
    """Make a view that raises at all that it is told."""

    def refuse(self: object, *arguments: object) -> None:
        raise error

    return type("Broken", (ProgressView,), dict.fromkeys((*HEARD, "show"), refuse))


class Noting(JobObserver):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self.heard.append("attempt_started")

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self.heard.append("failed")


@pytest.mark.parametrize("error", [OSError("broken"), UnicodeEncodeError("ascii", "ü", 0, 1, "no"), SystemExit(1)])
def test_what_one_raises_is_said_once_and_keeps_nothing_from_the_others(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    before, after = Noting(), Noting()
    observers = JobObservers(raising(error)("orders"), (before,), (after,))
    observers.attempt_started(0, None)
    observers.failed(RuntimeError("no"), 5)
    observers.show("text", None)
    assert before.heard == after.heard == ["attempt_started", "failed"]
    (said,) = caplog.messages
    assert said.startswith(f"Broken of job 'orders' raised {type(error).__name__}")


def test_ctrl_c_is_not_held_back() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ObserverGuard("orders").call("a view", interrupt)


class BrokenHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("the log is broken")


@pytest.fixture
def broken_log() -> Iterator[None]:
    handler = BrokenHandler()
    logger = logging.getLogger("rekindle")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield
    logger.setLevel(before)
    logger.removeHandler(handler)


@pytest.mark.usefixtures("broken_log")
def test_a_handler_of_the_application_that_raises_is_said_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="the log is broken"):
        log_event(logging.WARNING, "orders", None, "notice", "text")
    observers = JobObservers(LogView("orders"))
    observers.notice("one")
    observers.notice("two")
    assert capsys.readouterr().err.count("LogView of job 'orders' raised OSError: the log is broken") == 1


def test_a_listener_that_raises_keeps_a_job_from_nothing(caplog: pytest.LogCaptureFixture) -> None:
    history, heard = JobHistory(ManualClock(), job_name="orders"), []
    history.listen(lambda: 1 / 0)
    history.listen(lambda: heard.append(history.status))
    history.enter(JobStatus.RUNNING)
    history.enter(JobStatus.FINISHED)
    assert heard == [JobStatus.RUNNING, JobStatus.FINISHED]
    (said,) = caplog.messages
    assert said.startswith("a listener of job 'orders' raised ZeroDivisionError")
