"""The counterpart of ``pyflink.common.restart_strategy``."""

from __future__ import annotations

from rekindle.config.restart_strategy import (
    RestartStrategies,
    RestartStrategyConfiguration,
)

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]
