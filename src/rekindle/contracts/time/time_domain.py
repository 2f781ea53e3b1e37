"""The two clocks a timer can follow."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Tell whether a firing timer followed event time or processing time."""

    EVENT_TIME = 0
    """The timer fired because the watermark passed it."""

    PROCESSING_TIME = 1
    """The timer fired because the wall clock passed it."""
