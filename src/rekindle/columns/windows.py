"""Time windows as arithmetic on a column of timestamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rekindle.columns.evaluation import NotColumnar
from rekindle.columns.grouping import Codes
from rekindle.columns.window_grid import WindowGrid

_FAR = 1 << 62  # nobody's timestamps lie beyond; sums with the size of a window stay within 64 bits


@dataclass(frozen=True, slots=True)
class AssignedWindows:
    """Say which windows the rows of a batch belong to: an entry for each pair of a row and a window.

    Attributes:
        rows: The row of each entry; None: each row has one, in their order.
        starts: Where its window begins.
    """

    rows: Codes | None
    starts: Codes


def assigned(grid: WindowGrid, timestamps: Codes) -> AssignedWindows:
    """Assign windows to timestamps, of each row the latest first.

    Raises:
        NotColumnar: A timestamp is none that a window can be computed for.
    """
    if len(timestamps) and (
        timestamps.min() <= -_FAR or timestamps.max() >= _FAR or max(grid.size, grid.slide) >= _FAR
    ):
        raise NotColumnar("timestamps at the ends of time")
    latest = timestamps - (timestamps - grid.offset) % grid.slide
    if grid.size == grid.slide:
        return AssignedWindows(None, latest)
    steps = np.arange(-(-grid.size // grid.slide)) * grid.slide
    starts = latest[:, None] - steps[None, :]
    open_then = starts > (timestamps - grid.size)[:, None]
    rows = np.repeat(np.arange(len(timestamps)), open_then.sum(axis=1))
    return AssignedWindows(rows, starts[open_then])
