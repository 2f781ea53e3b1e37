"""The counterpart of ``pyflink.datastream.externalized_checkpoint_retention``."""

from __future__ import annotations

from rekindle.contracts.externalized_checkpoint_retention import (
    ExternalizedCheckpointCleanup,
    ExternalizedCheckpointRetention,
)

__all__ = ["ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]
