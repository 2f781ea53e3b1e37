"""The counterpart of ``pyflink.common.time``."""

from __future__ import annotations

from rekindle.base.time import (
    Duration,
    Instant,
    Time,
    duration_to_millis,
)

__all__ = ["Duration", "Instant", "Time", "duration_to_millis"]
