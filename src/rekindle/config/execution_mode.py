"""How a batch program exchanges data. Kept for programs written for Flink 1.x; without effect."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExecutionMode"]


class ExecutionMode(Enum):
    """Say whether exchanges are pipelined or blocking."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3
