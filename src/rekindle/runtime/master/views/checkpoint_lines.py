"""Which completed checkpoints have a log line of their own, and which are summed up. Pure: it is told the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint

FREQUENT_SECONDS = 10.0
SUMMARY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Line:
    """Hold what a line says, for people and for programs."""

    text: str
    fields: dict[str, Any]


class CheckpointLines:
    """Turn completed checkpoints into lines.

    One that follows the one before within seconds waits for a summary, which comes once a minute.
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._since = 0.0
        self._waiting = 0
        self._latest: CompletedCheckpoint | None = None

    def completed(self, now: float, checkpoint: CompletedCheckpoint) -> list[Line]:
        """Return the lines to write now that a checkpoint is complete."""
        frequent = self._last is not None and now - self._last < FREQUENT_SECONDS
        before = [] if frequent else self.rest(now)
        self._last, self._latest = now, checkpoint
        self._waiting += 1
        return self.due(now) if frequent else [*before, *self.rest(now)]

    def due(self, now: float) -> list[Line]:
        """Return the summary if it is time for one."""
        return self.rest(now) if now - self._since >= SUMMARY_SECONDS else []

    def rest(self, now: float) -> list[Line]:
        """Return the line of all checkpoints that have none yet: something else happens, or the time has come."""
        count, latest, seconds = self._waiting, self._latest, now - self._since
        if latest is None or not count:
            return []
        self._waiting, self._since = 0, now
        described = describe_checkpoint(latest)
        fields = {"checkpoint_id": latest.checkpoint_id, "duration_ms": latest.duration_ms, "size": latest.size}
        if count == 1:
            return [Line(f"checkpoint {described} is complete", fields)]
        text = f"{count} checkpoints in the last {seconds:.0f} s, the last one {described}"
        return [Line(text, {**fields, "checkpoints": count})]


def describe_checkpoint(checkpoint: CompletedCheckpoint) -> str:
    """Say id, duration and size of a checkpoint."""
    return f"{checkpoint.checkpoint_id} ({checkpoint.duration_ms} ms, {_format_size(checkpoint.size)})"


def _format_size(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
