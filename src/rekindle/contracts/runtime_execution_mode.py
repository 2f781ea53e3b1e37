"""Whether a program runs as a stream or as a batch."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """Choose how a program is executed; with event time its results are the same either way."""

    STREAMING = 0
    """Emit results as they change, take checkpoints, follow both clocks. For any source."""

    BATCH = 1
    """Emit only final results per key, take no checkpoints, replay a failed job. For bounded sources."""

    AUTOMATIC = 2
    """Use ``BATCH`` if every source is bounded, else ``STREAMING``."""
