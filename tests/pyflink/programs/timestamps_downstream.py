"""Timestamps of what functions, timers and windows emit."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, ProcessFunction
from rekindle.datastream.window import TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v * 10


class P(ProcessFunction):
    def process_element(self, v, ctx):
        yield v, ctx.timestamp()


class K(KeyedProcessFunction):
    def process_element(self, v, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
        yield v

    def on_timer(self, ts, ctx):
        yield -ts


def main(env):
    ds = env.from_collection([1, 2, 3], Types.INT()).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )
    ds.flat_map(lambda x: [x, x], Types.INT()).process(P()).print("flat")
    ds.key_by(lambda x: x % 2).process(K(), Types.INT()).process(P()).print("timer")
    ds.key_by(lambda x: x % 2).window(TumblingEventTimeWindows.of(Time.milliseconds(20))).reduce(
        lambda a, b: a + b
    ).process(P()).print("window")
    ds.key_by(lambda x: x % 2).reduce(lambda a, b: a + b).process(P()).print("reduce")
    ds.union(ds).process(P()).map(lambda x: x[1]).print("union")
    env.execute()
