"""The counterpart of ``pyflink.datastream.checkpointing_mode``."""

from __future__ import annotations

from rekindle.contracts.checkpointing_mode import (
    CheckpointingMode,
)

__all__ = ["CheckpointingMode"]
