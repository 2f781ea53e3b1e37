"""The guarantee that checkpoints give to state."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """Choose what a record may do to state when the job recovers from a failure."""

    EXACTLY_ONCE = 0
    """Every record changes state exactly once: snapshots are taken when no record is in flight."""

    AT_LEAST_ONCE = 1
    """Records may change state twice after a failure: snapshots do not wait for records in flight.

    A job without any exchange between its operators is exactly-once in this mode too.
    """
