"""The counterpart of ``pyflink.datastream.execution_mode``."""

from __future__ import annotations

from rekindle.contracts.execution_mode import (
    RuntimeExecutionMode,
)

__all__ = ["RuntimeExecutionMode"]
