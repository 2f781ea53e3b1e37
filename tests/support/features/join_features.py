"""Two streams that meet: in windows, in co-groups, within an interval of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from rekindle.common import Time
from rekindle.datastream import DataStream
from rekindle.datastream.functions import ProcessJoinFunction
from rekindle.datastream.window import TumblingEventTimeWindows
from support.features.feature import Feature, key_of, time_of

SIZE = 600
NEAR = 80


def thirds(events: DataStream) -> DataStream:
    return events.filter(lambda n: n % 3 == 0)


def both_groups(count: int) -> Iterator[tuple[int, list[int], list[int]]]:
    """Return all events and every third one, by key and window."""
    groups: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for n in range(count):
        groups[key_of(n), time_of(n) // SIZE][0].append(n)
        if n % 3 == 0:
            groups[key_of(n), time_of(n) // SIZE][1].append(n)
    return ((key, *both) for (key, _), both in groups.items())


class Near(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


def window_join(events: DataStream) -> DataStream:
    joined = events.join(thirds(events)).where(key_of).equal_to(key_of)
    return joined.window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE))).apply(lambda a, b: (a, b))


def co_group(events: DataStream) -> DataStream:
    def sums(first: Iterable[int], second: Iterable[int]) -> list[Any]:
        return [(sum(first), sum(second))]

    grouped = events.co_group(thirds(events)).where(key_of).equal_to(key_of)
    return grouped.window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE))).apply(sums)


def interval_join(events: DataStream) -> DataStream:
    joined = events.key_by(key_of).interval_join(thirds(events).key_by(key_of))
    return joined.between(Time.milliseconds(-NEAR), Time.milliseconds(2 * NEAR)).lower_bound_exclusive().process(Near())


def near(count: int) -> Iterator[Any]:
    for left in range(count):
        for right in range(max(0, left - 100), min(left + 100, count)):
            apart = time_of(right) - time_of(left)
            if key_of(left) == key_of(right) and right % 3 == 0 and -NEAR < apart <= 2 * NEAR:
                yield left, right, max(time_of(left), time_of(right))


JOINS = [
    Feature(
        "window join",
        window_join,
        lambda count: [(a, b) for _, first, second in both_groups(count) for a in first for b in second],
    ),
    Feature("co-group", co_group, lambda count: [(sum(a), sum(b)) for _, a, b in both_groups(count)]),
    Feature("interval join", interval_join, near),
]
