"""Tumbling, sliding, session and global windows."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessWindowFunction
from rekindle.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class PW(ProcessWindowFunction):
    def process(self, key, context, elements):
        w = context.window()
        yield key, w.start, w.end, w.max_timestamp(), [e[1] for e in elements], context.current_watermark()


def main(env):
    data = [("a", 1), ("b", 2), ("a", 4), ("a", 5), ("b", 9), ("a", 12), ("a", 6), ("b", 3), ("a", 21)]
    ds = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )

    def k():
        return ds.key_by(lambda x: x[0])

    k().window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(PW()).print("tumbling")
    env.execute()
    k().window(TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2))).process(PW()).print("offset")
    env.execute()
    k().window(SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3))).process(PW()).print("sliding")
    env.execute()
    k().window(EventTimeSessionWindows.with_gap(Time.milliseconds(4))).process(PW()).print("session")
    env.execute()
    ds.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).reduce(
        lambda a, b: (a[0] + b[0], a[1] + b[1])
    ).print("all")
    env.execute()
    k().window(GlobalWindows.create()).trigger(CountTrigger.of(2)).reduce(lambda a, b: (a[0], a[1] + b[1])).print(
        "global"
    )
    env.execute()
    k().window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2))).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    ).print("purge")
    env.execute()
