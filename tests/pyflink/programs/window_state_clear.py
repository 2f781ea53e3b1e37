"""State of windows, and windows of a stream without keys."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream.functions import AllWindowFunction, ProcessAllWindowFunction, ProcessWindowFunction
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class PW(ProcessWindowFunction):
    def process(self, key, context, elements):
        starts = context.global_state().get_list_state(ListStateDescriptor("l", Types.INT()))
        starts.add(context.window().start)
        s = context.window_state().get_state(ValueStateDescriptor("s", Types.INT()))
        s.update((s.value() or 0) + len(list(elements)))
        yield key, list(starts.get()), s.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("s", Types.INT())).clear()


class AW(AllWindowFunction):
    def apply(self, window, inputs):
        return [(window.start, sum(e[1] for e in inputs))]


class PAW(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().end, sorted(elements)

    def clear(self, context):
        pass


def main(env):
    data = [("a", 1), ("b", 2), ("a", 4), ("a", 5), ("b", 9), ("a", 12)]
    ds = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )
    ds.key_by(lambda x: x[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(PW()).print("pw")
    ds.window_all(TumblingEventTimeWindows.of(Time.milliseconds(5))).apply(AW()).print("aw")
    ds.window_all(SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3))).process(PAW()).print("paw")
    ds.window_all(EventTimeSessionWindows.with_gap(Time.milliseconds(3))).process(PAW()).print("ses")
    ds.window_all(CountTumblingWindowAssigner.of(4)).process(CAW()).print("cnt")
    env.execute()


class CAW(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield str(context.window()), len(list(elements))
