"""The counterpart of ``pyflink.common.input_dependency_constraint``."""

from __future__ import annotations

from rekindle.config.execution_config import (
    InputDependencyConstraint,
)

__all__ = ["InputDependencyConstraint"]
