"""When a task may start, given its inputs. Kept for programs written for Flink 1.x; without effect."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Say whether any one of the inputs must be ready, or all."""

    ANY = 0
    ALL = 1
