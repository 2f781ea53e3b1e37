"""What the features of the API cost on Spark: records per second, and the ratio to a keyed process function.

Every job reads the same records from sources in the slots: numbers that become pairs of a key and a value. They run in
one session one after the other, a first one before them for a fresh JVM; the first epoch of each is left out.

    python benchmarks/api.py [--records N] [--keys K] [--parallelism P] [--only NAME]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

from measuring import Discard, configured, run_job, steady

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AggregateFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

RATES = MapStateDescriptor("rates", Types.LONG(), Types.LONG())
BASE = "keyed process"

Pair = tuple[int, int]


class RunningSum(KeyedProcessFunction):
    """Keep a sum for each key and emit it with every record."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        """Add up."""
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        yield value[0], total


class Sum(AggregateFunction):
    """Add up in an accumulator."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Pair, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Convert(KeyedBroadcastProcessFunction):
    """Look up a broadcast rate for each record."""

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        """Multiply by the rate, if it is known yet."""
        yield value[0], value[1] * (ctx.get_broadcast_state(RATES).get(value[1] % 10) or 1)

    def process_broadcast_element(self, value: Pair, ctx: Any) -> None:
        """Remember a rate."""
        ctx.get_broadcast_state(RATES).put(*value)


class Arrival(TimestampAssigner):
    """Take the value of a pair for its time, in milliseconds."""

    def extract_timestamp(self, value: Pair, record_timestamp: int) -> int:
        return value[1]


def add(a: Pair, b: Pair) -> Pair:
    """Add up the values of two pairs."""
    return a[0], a[1] + b[1]


def timed(pairs: DataStream) -> DataStream:
    """Give each pair its time."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
    return pairs.assign_timestamps_and_watermarks(strategy)


def by_key(pairs: DataStream) -> Any:
    """Key pairs by what they are pairs of."""
    return pairs.key_by(lambda pair: pair[0])


def features(environment: StreamExecutionEnvironment, keys: int) -> dict[str, Callable[[DataStream], DataStream]]:
    """Return all features, as streams made of pairs. A window holds about ten records of a key."""
    size = Time.milliseconds(10 * keys)
    rates = environment.from_collection([(n, n + 1) for n in range(10)])
    return {
        "map": lambda pairs: pairs.map(lambda pair: (pair[0], pair[1] + 1)),
        BASE: lambda pairs: by_key(pairs).process(RunningSum()),
        "keyed process, event time": lambda pairs: by_key(timed(pairs)).process(RunningSum()),
        "tumbling window, reduce": lambda pairs: (
            by_key(timed(pairs)).window(TumblingEventTimeWindows.of(size)).reduce(add)
        ),
        "tumbling window, aggregate": lambda pairs: (
            by_key(timed(pairs)).window(TumblingEventTimeWindows.of(size)).aggregate(Sum())
        ),
        "session window, reduce": lambda pairs: (
            by_key(timed(pairs))
            .window(EventTimeSessionWindows.with_gap(Time.milliseconds(keys + keys // 2)))
            .reduce(add)
        ),
        "broadcast join": lambda pairs: by_key(pairs).connect(rates.broadcast(RATES)).process(Convert()),
    }


def run(environment: StreamExecutionEnvironment, records: int, keys: int, name: str) -> float:
    """Run the job of one feature."""
    source = NumberSequenceSource(0, records - 1)
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda n: (n * 7_919 % keys, n))
    features(environment, keys)[name](pairs).add_sink(Discard())
    return steady(run_job(environment))[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--only", help="the name of one feature, beside the keyed process function")
    args = parser.parse_args()

    environment = configured(args.parallelism)
    names = [name for name in features(environment, args.keys) if args.only in (None, name) or name == BASE]
    try:
        run(environment, args.records // 4, args.keys, BASE)
        found = {name: run(environment, args.records, args.keys, name) for name in names}
    finally:
        environment.close()
    print(f"{args.records:,} records, {args.keys:,} keys, parallelism {args.parallelism}, {os.cpu_count()} cores")
    for name, speed in found.items():
        print(f"{name:<28} {speed:12,.0f} records/s   {found[BASE] / speed:5.2f} times the time of {BASE}")


if __name__ == "__main__":
    main()
