"""The two forms of a log line."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import datetime

import pytest

from rekindle.logs.events import log_event
from rekindle.logs.formats import JsonFormat, TextFormat, iso_time

ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d"


@pytest.fixture
def event(caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    caplog.set_level(logging.INFO, "rekindle")
    log_event(logging.WARNING, "größe", "5f1c", "failed", "failure: 'x'\n  at y", error="ValueError", path=None)
    return caplog.records[0]


def raised() -> logging.LogRecord:
    try:
        raise KeyError("oops")
    except KeyError:
        return logging.LogRecord("rekindle.ha", logging.ERROR, __file__, 1, "lost %d", (7,), sys.exc_info())


def test_a_time_has_date_milliseconds_and_offset() -> None:
    written = iso_time(1_700_000_000.1234)
    assert re.fullmatch(ISO, written)
    assert datetime.fromisoformat(written).timestamp() == 1_700_000_000.123


def test_text_has_time_level_job_and_what_happened(event: logging.LogRecord) -> None:
    written = TextFormat().format(event)
    assert re.fullmatch(rf"{ISO} WARNING \[größe\] failure: 'x'\n  at y", written)


def test_text_that_is_about_no_job_names_the_logger_and_has_the_traceback() -> None:
    first, *more = TextFormat().format(raised()).splitlines()
    assert re.fullmatch(rf"{ISO} ERROR   rekindle\.ha: lost 7", first)
    assert more[-1] == "KeyError: 'oops'"


def test_json_is_one_line_with_the_fields_of_the_event(event: logging.LogRecord) -> None:
    written = JsonFormat().format(event)
    assert "\n" not in written
    document = json.loads(written)
    assert re.fullmatch(ISO, document.pop("time"))
    assert document == {
        "level": "WARNING",
        "logger": "rekindle.job",
        "message": "[größe] failure: 'x'\n  at y",
        "job_name": "größe",
        "job_id": "5f1c",
        "event": "failed",
        "error": "ValueError",
        "path": None,
    }


def test_json_holds_tracebacks_and_what_json_does_not_know() -> None:
    record = raised()
    record.place = datetime(2026, 1, 2)  # as extra={"place": …} does
    document = json.loads(JsonFormat().format(record))
    assert document["exception"].endswith("KeyError: 'oops'")
    assert document["place"] == "2026-01-02 00:00:00"
