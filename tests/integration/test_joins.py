"""A window join and an interval join in one job."""

from __future__ import annotations

from typing import Any

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream.window import TumblingEventTimeWindows
from support.balances import environment
from support.joins import Pair, Timed, interval_joined, joined, random_events
from support.windows import tumbling

EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def test_both_joins_give_what_plain_python_gives(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    events = random_events(7, 60), random_events(8, 60)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Time.milliseconds(100)).with_timestamp_assigner(Second())  # type: ignore[arg-type]
    left, right = (
        env.from_collection(side, type_info=EVENT).assign_timestamps_and_watermarks(strategy) for side in events
    )
    by_window = left.join(right).where(lambda e: e[0]).equal_to(lambda e: e[0])
    pairs = by_window.window(TumblingEventTimeWindows.of(Time.milliseconds(7))).apply(Pair())
    keyed = left.key_by(lambda e: e[0])
    close = keyed.interval_join(right.key_by(lambda e: e[0])).between(-2, 3).process(Timed())
    with pairs.union(close).execute_and_collect() as found:
        assert sorted(found) == sorted([*joined(tumbling(7), *events), *interval_joined(*events, -2, 3)])
