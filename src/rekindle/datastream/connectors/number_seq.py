"""The counterpart of ``pyflink.datastream.connectors.number_seq``."""

from __future__ import annotations

from rekindle.connectors.number_sequence import (
    NumberSequenceSource,
)

__all__ = ["NumberSequenceSource"]
