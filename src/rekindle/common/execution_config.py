"""The counterpart of ``pyflink.common.execution_config``."""

from __future__ import annotations

from rekindle.config.execution_config import (
    ExecutionConfig,
)

__all__ = ["ExecutionConfig"]
