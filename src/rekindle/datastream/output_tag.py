"""The counterpart of ``pyflink.datastream.output_tag``."""

from __future__ import annotations

from rekindle.contracts.output_tag import (
    OutputTag,
)

__all__ = ["OutputTag"]
