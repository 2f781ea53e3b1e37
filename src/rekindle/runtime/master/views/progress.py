"""What people see of a running job: a live view in a terminal, log lines elsewhere, nothing where that is wanted."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rekindle.base.printable import printable
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import JobFencedError, SparkLostError
from rekindle.logs.events import log_event
from rekindle.logs.standard_streams import write_output
from rekindle.metrics.rates import RateWindow
from rekindle.runtime.master.views.checkpoint_lines import CheckpointLines, Line, describe_checkpoint
from rekindle.runtime.master.views.start_times import Phase, describe_start
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK

_LINE_EVERY_SECONDS = 5.0
_RATE_OVER_MS = 5_000
_AS_IT_IS: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False, "soft_wrap": True}  # nothing is cut


@dataclass(frozen=True, slots=True)
class EpochSummary:
    """Sum up an epoch."""

    epoch: int
    polled: int
    records: int
    seconds: float
    watermark: int
    busy_seconds: float = 0.0  # of the busiest slot


class JobObserver:
    """Hear what happens to a job, and do nothing about it. What else there is to be done, derived classes do."""

    def of_job(self, job_id: str) -> None:
        """Learn the id of the job."""

    def start(self) -> None:
        """Begin."""

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        """Show that slots run and state is restored."""

    def epoch_finished(self, summary: EpochSummary) -> None:
        """Show the progress of an epoch."""

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Show a completed checkpoint."""

    def checkpoint_failed(self, checkpoint_id: int, reason: str, text: str) -> None:
        """Show that a checkpoint failed that the job can do without."""

    def savepoint_completed(self, location: str) -> None:
        """Show a completed savepoint."""

    def notice(self, line: str) -> None:
        """Show that a slot is busy with long work."""

    def reachable_at(self, url: str) -> None:
        """Show where the REST interface of this process is, which has just begun to listen."""

    def dashboard_at(self, url: str) -> None:
        """Lead to the dashboard of this process, which has listened since an earlier job."""

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        """Show a failure; ``delay_ms`` until the restart, None when there is none."""

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        """Show that an attempt works again, and how long it took since the failure, by phase."""

    def ended(self, status: str) -> None:
        """Show how the job ended."""


class ProgressView(JobObserver):
    """Show nothing but what the job itself prints. The other views build on this one.

    Attributes:
        job_name: The job's name.
        job_id: Its id; None before the job has one.
    """

    def __init__(self, job_name: str) -> None:
        self.job_name = job_name
        self.job_id: str | None = None

    def of_job(self, job_id: str) -> None:
        self.job_id = job_id

    def show(self, text: str, stream: TextIO | None) -> None:
        """Show what the job printed; ``stream`` is None if the process has none of that kind."""
        write_output(stream, text)

    def recent_lines(self) -> dict[str, list[str]]:
        """Return the last lines that were not shown as they came, by what they are."""
        return {}


class LogView(ProgressView):
    """Log everything that happens, and one record every few seconds for the epochs."""

    _shows_itself = False

    def __init__(self, job_name: str) -> None:
        super().__init__(job_name)
        self._lock = threading.Lock()
        self._records = 0
        self._rate = 0.0  # records per second of the clock, not of work: between epochs a job waits for records
        self._recently = RateWindow(_now_ms(), 1, _RATE_OVER_MS)
        self._records_at_start = 0  # of the attempt
        self._records_at_line = 0
        self._last_line = time.monotonic()
        self._checkpoints = CheckpointLines()

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._sum_up_checkpoints()
        with self._lock:
            self._recently, self._records_at_start = RateWindow(_now_ms(), 1, _RATE_OVER_MS), self._records
        source = "the beginning" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
        text = f"attempt {attempt + 1} runs, from {source}"
        self._log("attempt_started", text, attempt=attempt + 1, checkpoint_id=checkpoint_id)

    def epoch_finished(self, summary: EpochSummary) -> None:
        now = time.monotonic()
        with self._lock:
            self._records += summary.records
            (self._rate,) = self._recently.per_second(_now_ms(), self._records - self._records_at_start)
            lines = self._checkpoints.due(now)
            due = now - self._last_line >= _LINE_EVERY_SECONDS and self._records > self._records_at_line
            if due:
                rate, self._records_at_line, self._last_line = self._rate, self._records, now
        self._log_checkpoints(lines)
        if due:
            text = f"epoch {summary.epoch}: {rate:,.0f} records/s, watermark {format_watermark(summary.watermark)}"
            watermark = summary.watermark
            self._log("progress", text, epoch=summary.epoch, records_per_second=round(rate), watermark=watermark)

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        with self._lock:
            lines = self._checkpoints.completed(time.monotonic(), checkpoint)
        self._log_checkpoints(lines)

    def checkpoint_failed(self, checkpoint_id: int, reason: str, text: str) -> None:
        self._log("checkpoint_failed", text, logging.WARNING, checkpoint_id=checkpoint_id, reason=reason)

    def savepoint_completed(self, location: str) -> None:
        self._log("savepoint_completed", f"savepoint {location} is complete", path=location)

    def notice(self, line: str) -> None:
        self._sum_up_checkpoints()
        self._log("notice", line)

    def reachable_at(self, url: str) -> None:
        self._log("rest_listening", f"REST interface: {url}", url=url)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._sum_up_checkpoints()
        end = "this driver stops" if isinstance(error, JobFencedError | SparkLostError) else "the job fails"
        follow = end if delay_ms is None else f"restart in {delay_ms} ms"
        level = logging.ERROR if delay_ms is None else logging.WARNING
        text, kind = f"failure ({follow}): {error}", type(error).__name__
        self._log("failed", text, level, error=kind, restart_delay_ms=delay_ms)

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        fields = {f"{phase.name.lower()}_ms": each for phase, each in milliseconds.items()}
        text = f"attempt {attempt + 1} works, {describe_start(milliseconds)}"
        self._log("recovered", text, attempt=attempt + 1, recovery_ms=sum(milliseconds.values()), **fields)

    def ended(self, status: str) -> None:
        self._sum_up_checkpoints()
        level = logging.ERROR if status == JobStatus.FAILED.name else logging.INFO
        self._log("ended", status, level, status=status)

    def _sum_up_checkpoints(self) -> None:
        """Write of the checkpoints that wait for a summary, before something that they came before."""
        with self._lock:
            lines = self._checkpoints.rest(time.monotonic())
        self._log_checkpoints(lines)

    def _log_checkpoints(self, lines: list[Line]) -> None:
        for line in lines:
            self._log("checkpoint_completed", line.text, **line.fields)

    def _log(self, event: str, text: str, level: int = logging.INFO, **fields: Any) -> None:
        log_event(level, self.job_name, self.job_id, event, text, shown=self._shows_itself, **fields)


class LiveView(LogView):
    """Keep one line at the bottom of the terminal up to date; what happens is logged for others."""

    _shows_itself = True

    def __init__(self, job_name: str) -> None:
        super().__init__(job_name)
        from rich.console import Console  # only this view needs rich
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._state = "starting"
        self._epoch = "none"
        self._watermark = MIN_WATERMARK
        self._checkpoint = "none yet"
        self._restarts = 0

    def start(self) -> None:
        self._live.start()
        self._refresh()

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        super().attempt_started(attempt, checkpoint_id)
        self._state, self._restarts = "running", attempt
        if attempt:
            source = "the beginning" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
            self._print(f"restarted from {source}")
        self._refresh()

    def epoch_finished(self, summary: EpochSummary) -> None:
        super().epoch_finished(summary)
        self._epoch = str(summary.epoch)
        self._watermark = summary.watermark
        self._refresh()

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        super().checkpoint_completed(checkpoint)
        self._checkpoint = describe_checkpoint(checkpoint)
        self._refresh()

    def checkpoint_failed(self, checkpoint_id: int, reason: str, text: str) -> None:
        super().checkpoint_failed(checkpoint_id, reason, text)
        self._print(text, style="red")

    def savepoint_completed(self, location: str) -> None:
        super().savepoint_completed(location)
        self._print(f"savepoint {location} is complete")

    def notice(self, line: str) -> None:
        super().notice(line)
        self._print(line)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        super().failed(error, delay_ms)
        self._state = "failed" if delay_ms is None else "restarting"
        self._print(f"failure: {error}", style="red")
        self._refresh()

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        super().recovered(attempt, milliseconds)
        self._print(f"attempt {attempt + 1} works, {describe_start(milliseconds)}")

    def ended(self, status: str) -> None:
        super().ended(status)
        self._live.stop()
        self._print(f"{self.job_name}: {status}, {self._records:,} records, {self._restarts} restarts")

    def show(self, text: str, stream: TextIO | None) -> None:
        if stream is not None and stream.isatty():
            self._console.print(text, end="", **_AS_IT_IS)
        else:
            super().show(text, stream)

    def _print(self, text: str, style: str | None = None) -> None:
        """Print above the line."""
        self._console.print(printable(text), style=style, **_AS_IT_IS)

    def _refresh(self) -> None:
        from rich.text import Text  # as above

        parts = (
            f"{self.job_name} · {self._state}",
            f"epoch {self._epoch}",
            f"{self._rate:,.0f} records/s",
            f"watermark {format_watermark(self._watermark)}",
            f"checkpoint {self._checkpoint}",
            f"restarts {self._restarts}",
        )
        self._live.update(Text("  │  ".join(parts), style="cyan"))


def _now_ms() -> int:
    return round(time.monotonic() * 1000)


def format_watermark(watermark: int) -> str:
    """Return how far event time is."""
    if watermark == MIN_WATERMARK:
        return "none"
    if watermark == MAX_WATERMARK:
        return "end"
    seconds, millis = divmod(watermark, 1000)
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + f".{millis:03d}Z"
    except (OverflowError, ValueError, OSError):
        return str(watermark)
