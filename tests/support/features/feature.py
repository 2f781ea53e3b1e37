"""What a feature is: a stream made of the events, and what must come out of it.

Events are the numbers 0 to ``count`` - 1, in order, from one source; their time is such that sessions of 50 events have
pauses between them. They come with watermarks, and nothing is late. Whatever happens to the job on the way, the results
are those of plain Python over the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rekindle.common import WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource

KEYS = 7
SESSION = 50
PAUSE = 1_000
END_OF_TIME = 1 << 62
"""An event time that only the end of the input reaches."""


def key_of(number: int) -> int:
    return number % KEYS


def time_of(number: int) -> int:
    return number * 10 + number // SESSION * PAUSE


def of_key(key: int, count: int) -> range:
    """Return the events of a key."""
    return range(key, count, KEYS)


class EventTimes(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return time_of(value)


def events(env: StreamExecutionEnvironment, count: int) -> DataStream:
    """Make the stream of all events, in their order, with timestamps and watermarks."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTimes())
    source = env.from_source(NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), "events")
    source.uid("events").set_parallelism(1)
    return source.assign_timestamps_and_watermarks(strategy).uid("event-times").set_parallelism(1)


@dataclass(frozen=True)
class Feature:
    """One thing the API can do.

    Attributes:
        name: What it is.
        stream: Makes a stream of results out of the stream of events.
        golden: Gives the results that must come out, for a number of events.
        folded: Makes results comparable where when they come is left to chance: they are summed up, say.
    """

    name: str
    stream: Callable[[DataStream], DataStream]
    golden: Callable[[int], Iterable[Any]]
    folded: Callable[[list[Any], int], Iterable[Any]] = lambda results, count: results

    def check(self, results: list[Any], count: int) -> None:
        """Compare what came out with what must."""
        found, expected = Counter(self.folded(results, count)), Counter(self.golden(count))
        lost, extra = expected - found, found - expected
        if lost or extra:
            raise AssertionError(
                f"{self.name}: lost {lost.total()} ({_some(lost)}), too many {extra.total()} ({_some(extra)})"
            )


def summed(results: list[Any], count: int) -> list[Any]:
    """Sum up results ``(key, amount)`` by their key."""
    sums: Counter[Any] = Counter()
    for key, amount in results:
        sums[key] += amount
    return list(sums.items())


def _some(counter: Counter[Any]) -> str:
    return ", ".join(map(repr, list(counter)[:5]))
