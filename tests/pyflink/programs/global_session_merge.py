"""Sessions that merge, and triggers on tumbling windows."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessWindowFunction
from rekindle.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
)


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class PW(ProcessWindowFunction):
    def process(self, key, ctx, els):
        yield key, ctx.window().start, ctx.window().end, sorted(e[1] for e in els)


def main(env):
    data = [("a", 1), ("a", 20), ("a", 10), ("b", 5), ("a", 15), ("a", 6), ("b", 30)]
    ds = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )
    ds.key_by(lambda x: x[0]).window(EventTimeSessionWindows.with_gap(Time.milliseconds(6))).process(PW()).print(
        "merge"
    )
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(
        ContinuousEventTimeTrigger.of(Time.milliseconds(10))
    ).process(PW()).print("cont")
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(
        CountTrigger.of(2)
    ).process(PW()).print("cnt")
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(
        PurgingTrigger.of(EventTimeTrigger.create())
    ).process(PW()).print("purge")
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).allowed_lateness(100).process(
        PW()
    ).print("late")
    env.execute()
