"""How the records of a stream are dealt out to the subtasks of the next operator."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.common.type_information import TypeInformation


class Partitioning(enum.Enum):
    """Name a way of dealing out records."""

    FORWARD = "forward"  # stays in its subtask; no exchange
    HASH = "hash"  # by key group
    REBALANCE = "rebalance"  # round robin


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Say how one edge deals out its records.

    Attributes:
        kind: The way.
        key_selector: Gives the key of a record; comes with HASH.
        key_type: The type that the program gave to the keys, which decides which keys are one; None: any Python object.
    """

    kind: Partitioning
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None


FORWARD = Partitioner(Partitioning.FORWARD)
REBALANCE = Partitioner(Partitioning.REBALANCE)
