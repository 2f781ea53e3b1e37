"""The counterpart of ``pyflink.datastream.checkpoint_storage``."""

from __future__ import annotations

from rekindle.checkpoint.settings.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)

__all__ = ["CheckpointStorage", "CustomCheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]
