"""Deals records out to targets: whatever the number of targets, each record is touched once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Deal:
    """Say which records go to which target.

    Attributes:
        order: The places of all records: those of one target together, and in the order in which they came.
        parts: The targets that get records, with the part of ``order`` that is theirs: its start and its stop.
    """

    order: Places
    parts: list[tuple[int, int, int]]

    @staticmethod
    def of(targets: Places) -> Deal:
        """Return which records go to which target, from the target of each."""
        order = np.argsort(targets.astype(np.uint16), kind="stable")  # there are at most 32,768; so it sorts by radix
        dealt = targets[order]
        starts = np.flatnonzero(np.diff(dealt, prepend=-1))
        stops = np.append(starts, len(dealt))[1:]
        return Deal(order, list(zip(dealt[starts].tolist(), starts.tolist(), stops.tolist(), strict=True)))

    def ordered(self, values: Iterable[Any]) -> list[Any]:
        """Return values in the order of :attr:`order`."""
        ordered: list[Any] = np.fromiter(values, object, len(self.order))[self.order].tolist()
        return ordered
