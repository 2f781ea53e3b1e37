"""The counterpart of ``pyflink.datastream.checkpoint_config``."""

from __future__ import annotations

from rekindle.base.time import Duration as Duration
from rekindle.checkpoint.settings.checkpoint_config import (
    CheckpointConfig,
    ExternalizedCheckpointCleanup,
)
from rekindle.contracts.checkpointing_mode import CheckpointingMode as CheckpointingMode
from rekindle.contracts.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention as ExternalizedCheckpointRetention,
)

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup"]
