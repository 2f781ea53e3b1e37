"""Window operators under test, and what their windows must hold, computed in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rekindle.contracts.functions.function_adapters import as_reduce_function
from rekindle.datastream.functions import AggregateFunction, Function, ProcessWindowFunction
from rekindle.datastream.window import TimeWindow, WindowAssigner
from rekindle.graph.transformations.windows import WindowContents, Windowing
from rekindle.runtime.operators.windows.window_operator import WindowOperator

Event = tuple[str, int, int]
"""A key, a timestamp, a value."""


class Contents(ProcessWindowFunction):
    """Show key, window and elements."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, tuple(context.window()), sorted(value for _, _, value in elements)


class Total(ProcessWindowFunction):
    """Show key, window and the one result."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        (result,) = elements
        yield key, tuple(context.window()), result


class Summing(AggregateFunction):
    """Keep sum and number in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: Event, accumulator: list[int]) -> list[int]:
        accumulator[0] += value[2]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, int]:
        return accumulator[0], accumulator[1]

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return [a[0] + b[0], a[1] + b[1]]


def operator_of(
    assigner: WindowAssigner[Any, Any], kind: str = "process", function: Function | None = None, **settings: Any
) -> WindowOperator:
    """Make a window operator that gathers elements ("process"), or accumulates ("reduce", "aggregate")."""
    trigger = settings.pop("trigger", None) or assigner.get_default_trigger(None)
    evictor = settings.pop("evictor", None)
    if evictor is not None or kind == "process":
        contents = WindowContents(None, evictor=evictor)
    elif kind == "reduce":
        contents = WindowContents(None, as_reduce_function(lambda a, b: (a[0], 0, a[2] + b[2])))
    else:
        contents = WindowContents(None, Summing())
    if function is None:
        function = Contents() if kind == "process" else Total()
    return WindowOperator(Windowing(assigner, trigger, contents, **settings), function)


def shown(kind: str, key: str, values: Iterable[int]) -> Any:
    """Return what the functions above show of a window with these values."""
    values = list(values)
    if kind == "process":
        return sorted(values)
    return (sum(values), len(values)) if kind == "aggregate" else sum(values)


def tumbling(size: int, offset: int = 0) -> Callable[[list[Event]], dict[tuple[str, int, int], list[int]]]:
    """Compute tumbling windows: by trying every start."""
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int = 0) -> Callable[[list[Event]], dict[tuple[str, int, int], list[int]]]:
    """Compute sliding windows: by trying every start."""

    def compute(events: list[Event]) -> dict[tuple[str, int, int], list[int]]:
        windows: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        low, high = min((e[1] for e in events), default=0), max((e[1] for e in events), default=0)
        for start in range(low - size - slide, high + 1):
            if (start - offset) % slide == 0:
                for key, timestamp, value in events:
                    if start <= timestamp < start + size:
                        windows[key, start, start + size].append(value)
        return windows

    return compute


def sessions(gap: Callable[[Event], int]) -> Callable[[list[Event]], dict[tuple[str, int, int], list[int]]]:
    """Compute sessions: by joining any two that touch until none do."""

    def compute(events: list[Event]) -> dict[tuple[str, int, int], list[int]]:
        found = [(key, t, t + gap((key, t, value)), [value]) for key, t, value in events]
        joined = True
        while joined:
            joined = False
            for i, a in enumerate(found):
                for j in range(i + 1, len(found)):
                    b = found[j]
                    if a[0] == b[0] and a[1] <= b[2] and b[1] <= a[2]:
                        del found[j]
                        found[i] = (a[0], min(a[1], b[1]), max(a[2], b[2]), a[3] + b[3])
                        joined = True
                        break
                if joined:
                    break
        return {(key, start, end): values for key, start, end, values in found}

    return compute


def as_counter(results: Iterable[Any]) -> Counter[str]:
    """Return results as a multiset: windows of one end fire in any order."""
    return Counter(map(repr, (_plain(result) for result in results)))


def _plain(result: Any) -> Any:
    key, window, value = result
    return key, tuple(window), value[2] if isinstance(value, tuple) and len(value) == 3 else value


def window_of(timestamp: int, size: int) -> TimeWindow:
    """Return the tumbling window of a timestamp."""
    return TimeWindow(timestamp // size * size, timestamp // size * size + size)
