"""The counterpart of ``pyflink.datastream.execution_mode``."""

from __future__ import annotations

from rekindle.contracts.runtime_execution_mode import (
    RuntimeExecutionMode,
)

__all__ = ["RuntimeExecutionMode"]
