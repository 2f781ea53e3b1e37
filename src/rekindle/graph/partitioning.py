"""How the records of a stream are dealt out to the subtasks of the next operator."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.functions.basic_functions import Function
from rekindle.types.type_information import TypeInformation


class Partitioning(enum.Enum):
    """Name a way of dealing out records."""

    FORWARD = "forward"  # stays in its subtask; no exchange
    HASH = "hash"  # by key group
    REBALANCE = "rebalance"  # round robin
    RESCALE = "rescale"  # round robin among a few subtasks of its own
    SHUFFLE = "shuffle"  # at random
    GLOBAL = "global"  # all to the first subtask
    BROADCAST = "broadcast"  # each to every subtask
    CUSTOM = "custom"  # as a function of the program says
    SPLIT = "split"  # all of a source's split to the subtask that follows it


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Say how one edge deals out its records.

    Attributes:
        kind: The way.
        key_selector: Gives the key of a record; comes with HASH and CUSTOM.
        key_type: The type that the program gave to the keys, which decides which keys are one; None: any Python object.
        choose: Gives the subtask for a key, of so many; comes with CUSTOM.
        functions: What has to be opened before ``key_selector`` and ``choose`` are called, and closed at the end.
        asked_for: Whether the program wrote ``forward()``, rather than nothing.
    """

    kind: Partitioning
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    choose: Callable[[Any, int], int] | None = None
    functions: tuple[Function, ...] = ()
    asked_for: bool = False


FORWARD = Partitioner(Partitioning.FORWARD)
REBALANCE = Partitioner(Partitioning.REBALANCE)
RESCALE = Partitioner(Partitioning.RESCALE)
SHUFFLE = Partitioner(Partitioning.SHUFFLE)
GLOBAL = Partitioner(Partitioning.GLOBAL)
BROADCAST = Partitioner(Partitioning.BROADCAST)
SPLIT = Partitioner(Partitioning.SPLIT)


def rescale_targets(source: int, sources: int, targets: int) -> range:
    """Return the subtasks to which one subtask sends by RESCALE: every target has a sender, every sender a target."""
    if sources >= targets:
        target = next(t for t in range(targets) if source in rescale_sources(t, sources, targets))
        return range(target, target + 1)
    return range(-(-source * targets // sources), -(-(source + 1) * targets // sources))


def rescale_sources(target: int, sources: int, targets: int) -> range:
    """Return the subtasks from which one subtask receives by RESCALE."""
    if sources >= targets:
        return range(target * sources // targets, (target + 1) * sources // targets)
    source = next(s for s in range(sources) if target in rescale_targets(s, sources, targets))
    return range(source, source + 1)
