"""The counterpart of ``pyflink.datastream.timerservice``."""

from __future__ import annotations

from rekindle.contracts.time.timer_service import (
    TimerService,
)

__all__ = ["TimerService"]
