"""How the records of a stream are dealt out to the subtasks of the next operator."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Partitioning(enum.Enum):
    """Name a way of dealing out records."""

    FORWARD = "forward"  # stays in its subtask; no exchange
    HASH = "hash"  # by key group
    REBALANCE = "rebalance"  # round robin


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Say how one edge deals out its records; ``key_selector`` comes with HASH."""

    kind: Partitioning
    key_selector: Callable[[Any], Any] | None = None


FORWARD = Partitioner(Partitioning.FORWARD)
REBALANCE = Partitioner(Partitioning.REBALANCE)
