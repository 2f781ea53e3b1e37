"""The counterpart of ``pyflink.common.execution_mode``."""

from __future__ import annotations

from rekindle.config.execution_config import ExecutionMode

__all__ = ["ExecutionMode"]
