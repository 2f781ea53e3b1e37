"""Who shows Rekindle's records: nobody twice, and nobody in the way of the application."""

from __future__ import annotations

import functools
import io
import json
import logging
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

import pytest

from rekindle.common import Configuration
from rekindle.logs import setup
from rekindle.logs.setup import LogSettings, OwnHandler, logs_to_a_terminal, set_up_logging
from rekindle.runtime.master.views.progress import LiveView, LogView
from rekindle.runtime.master.views.view_choice import progress_view


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def in_a_program(test: Callable[..., None]) -> Callable[..., None]:
    """Take away all handlers for a test, pytest's own among them, as in a program that does not configure logging."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        root, logger = logging.getLogger(), logging.getLogger("rekindle")
        before = root.handlers[:], root.level, logger.handlers[:], logger.level, logger.propagate
        root.handlers[:] = logger.handlers[:] = []
        root.setLevel(logging.WARNING)
        logger.setLevel(logging.NOTSET)
        try:
            with redirect_stderr(fixtures["stderr"]):
                test(**fixtures)
        finally:
            root.handlers[:], logger.handlers[:], logger.propagate = before[0], before[2], before[4]
            root.setLevel(before[1])
            logger.setLevel(before[3])

    return run


@pytest.fixture
def stderr() -> io.StringIO:
    return io.StringIO()


def texts(stream: io.StringIO) -> list[str]:
    return [line.split(" ", 1)[1].lstrip() for line in stream.getvalue().splitlines()]


@in_a_program
def test_a_program_that_does_not_configure_logging_sees_lines(stderr: io.StringIO) -> None:
    set_up_logging(LogSettings())
    set_up_logging(LogSettings())
    LogView("orders").attempt_started(0, None)
    logging.getLogger("rekindle.ha").warning("slow")
    logging.getLogger("rekindle.ha").debug("not asked for")
    assert texts(stderr) == ["INFO    [orders] attempt 1 runs, from the beginning", "WARNING rekindle.ha: slow"]


@in_a_program
def test_lines_go_to_what_standard_error_is_now(stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up_logging(LogSettings())
    monkeypatch.setattr(sys, "stderr", redirected := io.StringIO())
    LogView("orders").notice("hello")
    assert (stderr.getvalue(), len(texts(redirected))) == ("", 1)


@in_a_program
def test_lines_are_json_by_a_key(stderr: io.StringIO) -> None:
    set_up_logging(LogSettings.of(Configuration.from_dict({"rekindle.log.format": "JSON"})))
    LogView("orders").savepoint_completed("/s/1")
    document = json.loads(stderr.getvalue())
    assert (document["event"], document["path"], document["level"]) == ("savepoint_completed", "/s/1", "INFO")


@in_a_program
def test_the_level_is_set_by_a_key(stderr: io.StringIO) -> None:
    set_up_logging(LogSettings.of(Configuration.from_dict({"rekindle.log.level": "warning"})))
    view = LogView("orders")
    view.attempt_started(0, None)
    view.failed(ValueError("broken"), 5)
    assert texts(stderr) == ["WARNING [orders] failure (restart in 5 ms): broken"]


@in_a_program
def test_an_application_that_configures_logging_gets_each_record_once(stderr: io.StringIO) -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    set_up_logging(LogSettings())
    LogView("orders").notice("hello")
    assert stderr.getvalue() == "INFO [orders] hello\n"


@in_a_program
def test_what_an_application_does_not_want_to_log_is_not_logged(stderr: io.StringIO) -> None:
    logging.basicConfig(format="%(message)s")  # at WARNING
    set_up_logging(LogSettings())
    view = LogView("orders")
    view.notice("hello")
    view.failed(ValueError("broken"), 5)
    assert stderr.getvalue() == "[orders] failure (restart in 5 ms): broken\n"
    assert logging.getLogger("rekindle").level == logging.NOTSET


@in_a_program
def test_the_level_of_a_key_holds_with_handlers_of_the_application_too(stderr: io.StringIO) -> None:
    logging.basicConfig(format="%(message)s")
    set_up_logging(LogSettings(level="INFO"))
    LogView("orders").notice("hello")
    assert stderr.getvalue() == "[orders] hello\n"


@in_a_program
def test_an_application_may_configure_logging_later(stderr: io.StringIO) -> None:
    set_up_logging(LogSettings())
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    LogView("orders").notice("hello")
    assert stderr.getvalue() == "[orders] hello\n"
    set_up_logging(LogSettings())  # the next job
    assert not [handler for handler in logging.getLogger("rekindle").handlers if isinstance(handler, OwnHandler)]
    assert logging.getLogger("rekindle").level == logging.NOTSET


@in_a_program
def test_handlers_of_the_logger_rekindle_count_and_those_that_do_nothing_do_not(stderr: io.StringIO) -> None:
    logging.getLogger().addHandler(logging.NullHandler())
    set_up_logging(LogSettings())
    LogView("orders").notice("one")
    own = io.StringIO()
    logging.getLogger("rekindle").addHandler(logging.StreamHandler(own))
    LogView("orders").notice("two")
    assert texts(stderr) == ["INFO    [orders] one"]
    assert own.getvalue() == "[orders] two\n"


@in_a_program
def test_handlers_of_the_root_do_not_count_if_they_get_nothing(stderr: io.StringIO) -> None:
    logging.basicConfig()
    logging.getLogger("rekindle").propagate = False
    set_up_logging(LogSettings())
    LogView("orders").notice("one")
    assert texts(stderr) == ["INFO    [orders] one"]


@pytest.mark.parametrize("error", [BrokenPipeError("nobody reads"), ValueError("I/O operation on closed file")])
@in_a_program
def test_a_stream_that_nobody_reads_any_more_is_no_error(
    stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    set_up_logging(LogSettings())
    monkeypatch.setattr(sys, "stderr", Broken())
    LogView("orders").ended("FINISHED")


@in_a_program
def test_what_a_live_view_shows_is_logged_for_the_application_only(
    stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up_logging(LogSettings())
    view = LiveView("orders")
    view.failed(ValueError("broken"), 5)
    assert stderr.getvalue() == "failure: broken\n"
    file = io.StringIO()
    logging.getLogger().addHandler(logging.StreamHandler(file))
    view.failed(ValueError("again"), 5)
    assert file.getvalue() == "[orders] failure (restart in 5 ms): again\n"


@in_a_program
def test_in_a_terminal_that_the_application_logs_to_there_is_no_live_view_beside_it(
    stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert type(progress_view("auto", "orders")) is LiveView
    logging.getLogger().addHandler(logging.StreamHandler(io.StringIO()))
    assert type(progress_view("auto", "orders")) is LiveView
    logging.getLogger().addHandler(logging.StreamHandler(terminal))
    assert logs_to_a_terminal()
    assert type(progress_view("auto", "orders")) is LogView


@in_a_program
def test_the_handler_is_one_for_the_whole_process(stderr: io.StringIO) -> None:
    set_up_logging(LogSettings())
    set_up_logging(LogSettings(json=True))
    assert logging.getLogger("rekindle").handlers == [setup._own]
