"""A trigger that fires early, and again at the end of a window."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessWindowFunction, Trigger, TriggerResult
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import TimeWindow, TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class Early(Trigger[tuple, TimeWindow]):
    D = ValueStateDescriptor("n", Types.INT())

    def on_element(self, element, timestamp, window, ctx):
        s = ctx.get_partitioned_state(self.D)
        n = (s.value() or 0) + 1
        s.update(n)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if n % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.D).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


class PW(ProcessWindowFunction):
    def process(self, key, ctx, els):
        yield key, ctx.window().start, [e[1] for e in els]


def main(env):
    ds = env.from_collection(
        [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 11), ("a", 12), ("b", 13)],
        Types.TUPLE([Types.STRING(), Types.INT()]),
    ).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA()))
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(Early()).process(
        PW()
    ).print()
    env.execute()
