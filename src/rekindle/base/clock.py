"""The clock, passed in wherever time matters."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tell the time, in milliseconds since the epoch."""

    def now(self) -> int:
        """Return the current time."""
        ...


class SystemClock:
    """Tell the time of this machine."""

    def now(self) -> int:
        """Return the current time."""
        return time.time_ns() // 1_000_000
