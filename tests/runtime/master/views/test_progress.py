"""What people see of a job: lines, a live line, or nothing but what the job prints."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable

import pytest

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.exceptions import JobFencedError
from rekindle.runtime.master.views import progress, view_choice
from rekindle.runtime.master.views.checkpoint_lines import describe_checkpoint
from rekindle.runtime.master.views.progress import (
    EpochSummary,
    LiveView,
    LogView,
    ProgressView,
    format_watermark,
)
from rekindle.runtime.master.views.view_choice import progress_view
from support.slot_snapshots import completed

Logged = Callable[[Callable[[LogView], None]], list[str]]
MIN, MAX = -(1 << 63), (1 << 63) - 1


def summary(epoch: int = 1, records: int = 100, seconds: float = 1.0, watermark: int = MIN) -> EpochSummary:
    return EpochSummary(epoch, records, records, seconds, watermark)


def checkpoint(size: int = 2_048, number: int = 7) -> CompletedCheckpoint:
    return completed(number, duration_ms=12, size=size)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the time that the views see."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def set_time(seconds: float) -> None:
        now[0] = seconds

    return set_time


class TestLogView:
    @pytest.fixture
    def logged(self, caplog: pytest.LogCaptureFixture) -> Callable[[Callable[[LogView], None]], list[str]]:
        """Return what a view logs, line by line."""
        caplog.set_level(logging.INFO, "rekindle")

        def lines(view: Callable[[LogView], None]) -> list[str]:
            view(LogView("word count"))
            return caplog.messages

        return lines

    def test_every_attempt_has_a_line_with_where_it_starts_from(self, logged: Logged) -> None:
        def run(view: LogView) -> None:
            view.attempt_started(0, None)
            view.attempt_started(1, 7)

        assert logged(run) == [
            "[word count] attempt 1 runs, from the beginning",
            "[word count] attempt 2 runs, from checkpoint 7",
        ]

    def test_a_completed_checkpoint_has_a_line_with_duration_and_size(self, logged: Logged) -> None:
        assert logged(lambda view: view.checkpoint_completed(checkpoint())) == [
            "[word count] checkpoint 7 (12 ms, 2.0 KiB) is complete"
        ]

    def test_a_completed_savepoint_has_a_line_with_its_location(self, logged: Logged) -> None:
        assert logged(lambda view: view.savepoint_completed("/s/savepoint-1")) == [
            "[word count] savepoint /s/savepoint-1 is complete"
        ]

    def test_where_the_rest_interface_is_has_a_line(self, logged: Logged) -> None:
        shown = logged(lambda view: view.reachable_at("http://127.0.0.1:8084"))
        assert shown == ["[word count] REST interface: http://127.0.0.1:8084"]

    def test_a_failure_has_a_line_that_says_what_follows(
        self, logged: Logged, caplog: pytest.LogCaptureFixture
    ) -> None:
        def run(view: LogView) -> None:
            view.failed(ValueError("broken"), 1_000)
            view.failed(ValueError("broken"), None)
            view.failed(JobFencedError("taken over"), None)

        assert logged(run) == [
            "[word count] failure (restart in 1000 ms): broken",
            "[word count] failure (the job fails): broken",
            "[word count] failure (this driver stops): taken over",
        ]
        assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR", "ERROR"]

    @pytest.mark.parametrize(("status", "level"), [("FINISHED", "INFO"), ("CANCELED", "INFO"), ("FAILED", "ERROR")])
    def test_the_end_has_a_line(
        self, logged: Logged, caplog: pytest.LogCaptureFixture, status: str, level: str
    ) -> None:
        assert logged(lambda view: view.ended(status)) == [f"[word count] {status}"]
        assert caplog.records[0].levelname == level

    def test_epochs_have_one_line_every_five_seconds_with_the_rate_since_the_last(
        self, at: Callable[[float], None], logged: Logged
    ) -> None:
        def run(view: LogView) -> None:
            for second in range(1, 11):
                at(second)
                view.epoch_finished(summary(epoch=second, records=1_000 * second, seconds=0.5, watermark=MAX))

        assert logged(run) == [
            "[word count] epoch 5: 3,000 records/s, watermark end",
            "[word count] epoch 10: 8,000 records/s, watermark end",
        ]

    def test_the_rate_is_that_of_the_clock_and_not_of_the_work(
        self, at: Callable[[float], None], logged: Logged
    ) -> None:
        def run(view: LogView) -> None:
            at(20)  # it took long to start
            view.attempt_started(0, None)
            for second in range(21, 27):
                at(second)
                view.epoch_finished(summary(epoch=second, records=199, seconds=0.15))

        assert logged(run)[-1] == "[word count] epoch 26: 199 records/s, watermark none"

    def test_an_idle_job_has_no_lines(self, at: Callable[[float], None], logged: Logged) -> None:
        def run(view: LogView) -> None:
            for second in range(20):
                at(second)
                view.epoch_finished(summary(records=0))

        assert logged(run) == []

    def test_an_epoch_that_took_no_time_is_no_error(self, at: Callable[[float], None], logged: Logged) -> None:
        def run(view: LogView) -> None:
            at(100)
            view.epoch_finished(summary(seconds=0.0))

        assert len(logged(run)) == 1

    def test_frequent_checkpoints_are_summed_up_and_the_sum_precedes_what_follows_them(
        self, at: Callable[[float], None], logged: Logged
    ) -> None:
        def run(view: LogView) -> None:
            for second in range(100):
                at(second)
                view.checkpoint_completed(checkpoint(number=second))
            view.failed(ValueError("broken"), 0)
            at(103)
            view.checkpoint_completed(checkpoint(number=100))
            at(200)
            view.epoch_finished(summary(records=0))
            view.ended("FINISHED")

        assert logged(run) == [
            "[word count] checkpoint 0 (12 ms, 2.0 KiB) is complete",
            "[word count] 60 checkpoints in the last 60 s, the last one 60 (12 ms, 2.0 KiB)",
            "[word count] 39 checkpoints in the last 39 s, the last one 99 (12 ms, 2.0 KiB)",
            "[word count] failure (restart in 0 ms): broken",
            "[word count] checkpoint 100 (12 ms, 2.0 KiB) is complete",
            "[word count] FINISHED",
        ]

    def test_a_record_carries_the_job_and_the_event(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "rekindle")
        view = LogView("word count")
        view.job_id = "5f1c"
        view.attempt_started(1, 7)
        (record,) = caplog.records
        assert record.name == "rekindle.job"
        fields = vars(record)
        assert {name: fields[name] for name in ("job_name", "job_id", "event", "attempt", "checkpoint_id")} == {
            "job_name": "word count",
            "job_id": "5f1c",
            "event": "attempt_started",
            "attempt": 2,
            "checkpoint_id": 7,
        }


class TestWhatTheJobPrints:
    @pytest.mark.parametrize("view", [ProgressView("job"), LogView("job")], ids=["none", "log"])
    def test_it_goes_to_the_stream_it_was_printed_to_unchanged(self, view: ProgressView) -> None:
        stream = io.StringIO()
        view.show("a [b] :100:\n", stream)
        assert stream.getvalue() == "a [b] :100:\n"

    def test_the_quiet_view_shows_nothing_of_its_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        view = ProgressView("job")
        view.start()
        view.attempt_started(0, None)
        view.epoch_finished(summary())
        view.checkpoint_completed(checkpoint())
        view.failed(ValueError("broken"), None)
        view.ended("FAILED")
        assert capsys.readouterr() == ("", "")

    def test_the_live_view_leaves_a_redirected_stream_alone(self) -> None:
        stream = io.StringIO()
        LiveView("job").show("printed\n", stream)
        assert stream.getvalue() == "printed\n"

    def test_the_live_view_prints_above_its_line_unchanged_even_markup_emoji_and_long_lines(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = "[bold]key:100:x[/bold] " + "long " * 60 + "\n"
        LiveView("job").show(text, Terminal())
        assert capsys.readouterr().err == text


def line_of(view: LiveView) -> str:
    return str(view._live.get_renderable())


class TestLiveView:
    def test_its_line_tells_how_far_the_job_is(self, at: Callable[[float], None]) -> None:
        view = LiveView("word count")
        at(10)
        view.attempt_started(0, None)
        at(10.5)
        view.epoch_finished(summary(epoch=42, records=5_000, seconds=0.5, watermark=0))
        view.checkpoint_completed(checkpoint())
        for part in (
            "word count · running",
            "epoch 42",
            "10,000 records/s",
            "watermark 1970-01-01 00:00:00.000Z",
            "checkpoint 7 (12 ms, 2.0 KiB)",
            "restarts 0",
        ):
            assert part in line_of(view)

    def test_failures_restarts_and_the_end_are_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        view = LiveView("[nightly] count")
        view.start()
        view.attempt_started(0, None)
        view.epoch_finished(summary(records=1_000))
        view.failed(ValueError("[broken] :100:"), 5)
        view.attempt_started(1, 7)
        view.epoch_finished(summary(records=234))
        view.ended("FINISHED")
        shown = capsys.readouterr().err
        assert "failure: [broken] :100:\n" in shown
        assert "restarted from checkpoint 7\n" in shown
        assert "[nightly] count: FINISHED, 1,234 records, 1 restarts\n" in shown

    @pytest.mark.parametrize(("delay_ms", "state"), [(5, "job · restarting"), (None, "job · failed")])
    def test_after_a_failure_its_line_tells_what_follows(self, delay_ms: int | None, state: str) -> None:
        view = LiveView("job")
        view.failed(ValueError("broken"), delay_ms)
        assert state in line_of(view)


class TestChoosing:
    @pytest.mark.parametrize(("wanted", "kind"), [("live", LiveView), ("log", LogView), ("none", ProgressView)])
    def test_the_view_is_the_one_that_was_set(self, wanted: str, kind: type[ProgressView]) -> None:
        assert type(progress_view(wanted, "job")) is kind

    @pytest.mark.parametrize(("stream", "kind"), [(Terminal(), LiveView), (io.StringIO(), LogView)])
    def test_by_itself_it_is_live_where_somebody_watches(
        self, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, kind: type[ProgressView]
    ) -> None:
        monkeypatch.setattr(view_choice.sys, "stderr", stream)
        assert type(progress_view("auto", "job")) is kind


@pytest.mark.parametrize(
    ("watermark", "shown"),
    [
        (MIN, "none"),
        (MAX, "end"),
        (1_700_000_000_123, "2023-11-14 22:13:20.123Z"),
        (-1, "1969-12-31 23:59:59.999Z"),
    ],
)
def test_a_watermark_is_shown_as_a_time(watermark: int, shown: str) -> None:
    assert format_watermark(watermark) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3072.0 GiB")],
)
def test_the_size_of_a_checkpoint_is_shown_in_its_unit(size: int, shown: str) -> None:
    assert describe_checkpoint(checkpoint(size)) == f"7 (12 ms, {shown})"
