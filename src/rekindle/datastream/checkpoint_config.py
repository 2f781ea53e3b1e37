"""The counterpart of ``pyflink.datastream.checkpoint_config``."""

from __future__ import annotations

from rekindle.checkpoint.settings.checkpoint_config import (
    CheckpointConfig,
    ExternalizedCheckpointCleanup,
)

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup"]
