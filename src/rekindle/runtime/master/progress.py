"""What people see of a running job: a live view in a terminal, plain lines elsewhere, nothing where that is wanted."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.exceptions import JobFencedError, SparkLostError
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK

_LINE_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class EpochSummary:
    """Sum up an epoch."""

    epoch: int
    polled: int
    records: int
    seconds: float
    watermark: int


class ProgressView:
    """Show nothing but what the job itself prints. The other views build on this one."""

    def __init__(self, job_name: str) -> None:
        self.job_name = job_name

    def start(self) -> None:
        """Begin."""

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        """Show that slots run and state is restored."""

    def epoch_finished(self, summary: EpochSummary) -> None:
        """Show the progress of an epoch."""

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Show a completed checkpoint."""

    def savepoint_completed(self, location: str) -> None:
        """Show a completed savepoint."""

    def notice(self, line: str) -> None:
        """Show that a slot is busy with long work."""

    def reachable_at(self, url: str) -> None:
        """Show where the REST interface of this process is, which has just begun to listen."""

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        """Show a failure; ``delay_ms`` until the restart, None when there is none."""

    def ended(self, status: str) -> None:
        """Show how the job ended."""

    def show(self, text: str, stream: TextIO) -> None:
        """Show what the job printed."""
        stream.write(text)
        stream.flush()


class LogView(ProgressView):
    """Write a line for everything that happens, and one every few seconds for the epochs, to standard error."""

    def __init__(self, job_name: str, stream: TextIO | None = None) -> None:
        super().__init__(job_name)
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()
        self._records = 0
        self._seconds = 0.0
        self._last_line = time.monotonic()

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        source = "the beginning" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
        self._line(f"attempt {attempt + 1} runs, from {source}")

    def epoch_finished(self, summary: EpochSummary) -> None:
        with self._lock:
            self._records += summary.records
            self._seconds += summary.seconds
            due = time.monotonic() - self._last_line >= _LINE_EVERY_SECONDS and self._records
            if due:
                records, seconds = self._records, self._seconds
                self._records, self._seconds, self._last_line = 0, 0.0, time.monotonic()
        if due:
            self._line(
                f"epoch {summary.epoch}: {records / max(seconds, 1e-9):,.0f} records/s, "
                f"watermark {format_watermark(summary.watermark)}"
            )

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._line(f"checkpoint {describe_checkpoint(checkpoint)} is complete")

    def savepoint_completed(self, location: str) -> None:
        self._line(f"savepoint {location} is complete")

    def notice(self, line: str) -> None:
        self._line(line)

    def reachable_at(self, url: str) -> None:
        self._line(f"REST interface: {url}")

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        end = "this driver stops" if isinstance(error, JobFencedError | SparkLostError) else "the job fails"
        follow = end if delay_ms is None else f"restart in {delay_ms} ms"
        self._line(f"failure ({follow}): {error}")

    def ended(self, status: str) -> None:
        self._line(status)

    def _line(self, text: str) -> None:
        stamp = time.strftime("%H:%M:%S")
        with self._lock, suppress(OSError, ValueError):  # nobody reads any more: the job goes on
            self._stream.write(f"{stamp} [{self.job_name}] {text}\n")
            self._stream.flush()


class LiveView(ProgressView):
    """Keep one line at the bottom of the terminal up to date."""

    def __init__(self, job_name: str) -> None:
        super().__init__(job_name)
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._state = "starting"
        self._epoch = "none"
        self._rate = 0.0
        self._total = 0
        self._watermark = MIN_WATERMARK
        self._checkpoint = "none yet"
        self._restarts = 0

    def start(self) -> None:
        self._live.start()
        self._refresh()

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._state, self._restarts = "running", attempt
        if attempt:
            source = "the beginning" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
            self._print(f"restarted from {source}")
        self._refresh()

    def epoch_finished(self, summary: EpochSummary) -> None:
        self._epoch = str(summary.epoch)
        self._total += summary.records
        self._rate = summary.records / max(summary.seconds, 1e-9)
        self._watermark = summary.watermark
        self._refresh()

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._checkpoint = describe_checkpoint(checkpoint)
        self._refresh()

    def savepoint_completed(self, location: str) -> None:
        self._print(f"savepoint {location} is complete")

    def notice(self, line: str) -> None:
        self._print(line)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._state = "failed" if delay_ms is None else "restarting"
        self._print(f"failure: {error}", style="red")
        self._refresh()

    def ended(self, status: str) -> None:
        self._live.stop()
        self._print(f"{self.job_name}: {status}, {self._total:,} records, {self._restarts} restarts")

    def show(self, text: str, stream: TextIO) -> None:
        if stream.isatty():
            self._print(text, end="")
        else:
            super().show(text, stream)

    def _print(self, text: str, end: str = "\n", style: str | None = None) -> None:
        """Print above the line, as it is: "[x]" is no markup, ":100:" no emoji, and a long line is not cut."""
        self._console.print(text, end=end, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _refresh(self) -> None:
        from rich.text import Text

        parts = (
            f"{self.job_name} · {self._state}",
            f"epoch {self._epoch}",
            f"{self._rate:,.0f} records/s",
            f"watermark {format_watermark(self._watermark)}",
            f"checkpoint {self._checkpoint}",
            f"restarts {self._restarts}",
        )
        self._live.update(Text("  │  ".join(parts), style="cyan"))


def progress_view(wanted: str, job_name: str) -> ProgressView:
    """Choose the view: ``live``, ``log``, ``none``, or ``auto`` by whether somebody watches."""
    if wanted == "auto":
        wanted = "live" if sys.stderr.isatty() else "log"
    views: dict[str, type[ProgressView]] = {"live": LiveView, "log": LogView, "none": ProgressView}
    return views[wanted](job_name)


def describe_checkpoint(checkpoint: CompletedCheckpoint) -> str:
    """Say id, duration and size of a checkpoint."""
    return f"{checkpoint.checkpoint_id} ({checkpoint.duration_ms} ms, {_format_size(checkpoint.size or 0)})"


def format_watermark(watermark: int) -> str:
    """Say how far event time is."""
    if watermark == MIN_WATERMARK:
        return "none"
    if watermark == MAX_WATERMARK:
        return "end"
    seconds, millis = divmod(watermark, 1000)
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + f".{millis:03d}Z"
    except (OverflowError, ValueError, OSError):
        return str(watermark)


def _format_size(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
