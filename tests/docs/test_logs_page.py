"""The page about logs leaves nothing out: no key, no event, no way to end."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from rekindle.config.log_options import LogOptions
from rekindle.config.options import RekindleOptions, option_groups
from rekindle.runtime.master.settings.signal_action import SignalAction
from rekindle.runtime.master.views.progress import EpochSummary, LogView
from rekindle.runtime.master.views.start_times import Phase
from support.slot_snapshots import completed

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()


def test_every_key_is_explained_with_its_default() -> None:
    for option in option_groups()["Log"]:
        (default,) = re.findall(rf"^\| `{re.escape(option.key)}` \| (.*?) \|", PAGE, re.MULTILINE)
        assert (option.parse(default.strip("`")) if default.startswith("`") else None) == option.default
    assert LogOptions.FORMAT.key in PAGE
    assert f"`{RekindleOptions.ARCHIVED_JOBS.key}` ({RekindleOptions.ARCHIVED_JOBS.default})" in PAGE


def test_every_way_to_end_is_explained() -> None:
    table = PAGE.partition("| `rekindle.signal.action` |")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| [A-Z]", table, re.MULTILINE)
    assert rows == [action.value for action in SignalAction]


def test_every_event_of_a_view_is_listed_with_its_fields(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "rekindle")
    now = iter(range(0, 1_000_000, 1_000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    view = LogView("orders")
    view.attempt_started(0, None)
    view.epoch_finished(EpochSummary(1, 1, 1, 1.0, 1))
    view.checkpoint_completed(completed(1, duration_ms=1, size=1))
    view.savepoint_completed("/s")
    view.failed(ValueError("x"), None)
    view.recovered(1, dict.fromkeys(Phase, 1))
    view.reachable_at("http://")
    view.notice("x")
    view.ended("FINISHED")
    standard = {
        *vars(logging.makeLogRecord({})),
        "message",
        "asctime",
        "shown_elsewhere",
        "job_name",
        "job_id",
        "event",
    }
    rows = {row.split("|")[1]: row for row in PAGE.splitlines() if row.startswith("| `")}
    seen = set()
    for record in caplog.records:
        event = vars(record)["event"]
        seen.add(event)
        (row,) = [row for name, row in rows.items() if f"`{event}`" in name]
        assert all(f"`{field}`" in row for field in vars(record).keys() - standard), row
    assert len(seen) == 9


def test_the_document_is_json() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(text)["event"] == "failed"
