"""Joins computed by trying every pair, and functions that show what they are called with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rekindle.datastream.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from support.seeds import SEED

Event = tuple[str, int, int]
"""A key, a timestamp, a value."""
Windows = Callable[[list[Any]], dict[tuple[Any, int, int], list[Any]]]
"""One of the functions of ``support.windows``: what each window holds."""


class Pair(JoinFunction):
    """Show a pair."""

    def join(self, first: Any, second: Any) -> Any:
        return first, second


class BothOrders(FlatJoinFunction):
    """Show a pair twice, unless the values are equal: then not at all."""

    def join(self, first: Any, second: Any) -> Iterator[Any]:
        if first[2] != second[2]:
            yield first, second
            yield second, first


class Groups(CoGroupFunction):
    """Show the elements of both streams."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        yield sorted(first), sorted(second)


class Timed(ProcessJoinFunction):
    """Show a pair and its timestamps."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def random_events(seed: int, count: int, keys: int = 4, times: int = 60) -> list[Event]:
    """Make events, the same ones for the same seed, and for the same one of all tests."""
    choice = random.Random(SEED + seed)
    return [(f"k{choice.randrange(keys)}", choice.randrange(-5, times), n) for n in range(count)]


def groups(windows: Windows, first: list[Event], second: list[Event]) -> Iterator[tuple[list[Event], list[Event]]]:
    """Yield what both streams have in each window of each key."""
    tagged = [(key, time, (0, (key, time, value))) for key, time, value in first]
    tagged += [(key, time, (1, (key, time, value))) for key, time, value in second]
    for held in windows(tagged).values():
        yield [event for side, event in held if side == 0], [event for side, event in held if side == 1]


def joined(windows: Windows, first: list[Event], second: list[Event]) -> list[tuple[Event, Event]]:
    """Join two streams by windows."""
    return [(one, two) for ones, twos in groups(windows, first, second) for one in ones for two in twos]


def interval_joined(left: list[Event], right: list[Event], lower: int, upper: int) -> list[Any]:
    """Join two streams by an interval whose bounds both belong to it."""
    return [
        (one, two, one[1], two[1], max(one[1], two[1]))
        for one in left
        for two in right
        if one[0] == two[0] and lower <= two[1] - one[1] <= upper
    ]
