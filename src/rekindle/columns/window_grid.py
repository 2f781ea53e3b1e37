"""Time windows that lie on a grid: those of one size, one every slide. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.columns.not_traceable import NotTraceable
from rekindle.contracts.windowing.time_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from rekindle.contracts.windowing.time_triggers import EventTimeTrigger


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """Describe windows in event time.

    Attributes:
        size: The size of a window, in milliseconds.
        slide: How long after a window the next one begins.
        offset: By how much they are shifted.
    """

    size: int
    slide: int
    offset: int


def grid_of(assigner: Any, trigger: Any) -> WindowGrid:
    """Return the grid of an assigner whose windows fire once, at their end.

    Raises:
        NotTraceable: Its windows lie on none, or fire at other times.
    """
    if type(trigger) is not EventTimeTrigger:
        raise NotTraceable(f"its windows fire by {type(trigger).__name__}")
    if type(assigner) is TumblingEventTimeWindows:
        return WindowGrid(assigner.size, assigner.size, assigner.offset)
    if type(assigner) is SlidingEventTimeWindows:
        return WindowGrid(assigner.size, assigner.slide, assigner.offset)
    raise NotTraceable(f"{type(assigner).__name__} are not assigned by columns")
