"""A job for the dashboard: orders from a slow source, totals by customer, windows, a failure when a file says so.

    python orders.py DIRECTORY

Below the directory are its checkpoints and savepoints; a file ``fail`` there lets a function raise, once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.common.time import Time
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import ReduceFunction
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows

DIRECTORY = Path(sys.argv[1])
CUSTOMERS = 500
HIGHEST = 10**9
MARKUP = "ORDERS_PLAIN" not in os.environ  # whether names hold what must not become part of a page
READ = "Read <b>order</b>" if MARKUP else "Read order"
PACE = float(os.environ.get("ORDERS_PACE", "0.0004"))


def order(number: int) -> tuple[int, int]:
    """Make up an order; takes a moment, as a call elsewhere would."""
    time.sleep(PACE)
    return number % CUSTOMERS, number % 97


class Moment(TimestampAssigner):
    """Let a millisecond pass from one order to the next."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return 1_700_000_000_000 + value % (HIGHEST // 2)


class Totals(KeyedProcessFunction):
    """Add up the orders of a customer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        total = ValueStateDescriptor("total", Types.LONG())
        total.set_queryable("customer-totals")
        self.total = runtime_context.get_state(total)
        self.by_day = runtime_context.get_map_state(MapStateDescriptor("by day", Types.INT(), Types.LONG()))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        fail = DIRECTORY / "fail"
        if fail.exists():
            fail.rename(DIRECTORY / "failed")
            raise ValueError("<img src=x onerror=alert(1)> is not an order")
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        day = value[1] % 7
        self.by_day.put(day, (self.by_day.get(day) or 0) + 1)
        yield value[0], total


class Larger(ReduceFunction):
    """Keep the larger total."""

    def reduce(self, value1: tuple[int, int], value2: tuple[int, int]) -> tuple[int, int]:
        return max(value1, value2, key=lambda each: each[1])


def main() -> None:
    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "2 s",
        "execution.checkpointing.dir": str(DIRECTORY / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(DIRECTORY / "savepoints"),
        "execution.checkpointing.num-retained": "3",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "10",
        "restart-strategy.fixed-delay.delay": "200 ms",
        "rekindle.progress": "log",
        "queryable-state.enable": "true",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    moments = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Moment())
    numbers = env.from_source(NumberSequenceSource(1, HIGHEST), moments, "orders received")
    orders = (
        numbers.map(order, Types.TUPLE([Types.INT(), Types.INT()]))
        .uid("orders")
        .name("Read <b>order</b>" if MARKUP else "Read order")
    )
    totals = orders.key_by(lambda value: value[0]).process(Totals(), Types.TUPLE([Types.INT(), Types.LONG()]))
    totals = totals.uid("totals").name("Totals by customer")
    best = totals.key_by(lambda value: value[0] % 4).window(TumblingEventTimeWindows.of(Time.seconds(2)))
    best.reduce(Larger()).uid("best").name("Best of 2 seconds").filter(lambda value: False).name("Nothing").print()
    env.execute("Orders & <i>totals</i>" if MARKUP else "Orders")


main()
