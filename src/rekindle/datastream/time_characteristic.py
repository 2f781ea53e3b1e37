"""TimeCharacteristic: Flink 1.x's word for the time that a program goes by."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """Name the time that a program goes by. Timers and windows say themselves which time is theirs."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
