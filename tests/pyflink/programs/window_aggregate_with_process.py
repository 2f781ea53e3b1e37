"""Aggregates of windows, with and without a function for the result."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, ProcessWindowFunction, ReduceFunction, WindowFunction
from rekindle.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class Avg(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, v, a):
        return a[0] + v[1], a[1] + 1

    def get_result(self, a):
        return a[0] / a[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class PW(ProcessWindowFunction):
    def process(self, key, context, averages):
        average = next(iter(averages))
        yield key, average, context.window().start


class WF(WindowFunction):
    def apply(self, key, window, inputs):
        for i in inputs:
            yield key, i, window.end


class R(ReduceFunction):
    def reduce(self, a, b):
        return a[0], max(a[1], b[1])


def main(env):
    data = [("a", 1), ("b", 2), ("a", 4), ("a", 5), ("b", 9), ("a", 12)]
    tt = Types.TUPLE([Types.STRING(), Types.INT()])
    ds = env.from_collection(data, tt).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )

    def w():
        return ds.key_by(lambda x: x[0], key_type=Types.STRING()).window(
            TumblingEventTimeWindows.of(Time.milliseconds(5))
        )

    w().aggregate(Avg(), PW()).print("aggpw")
    w().aggregate(
        Avg(),
        WF(),
        accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]),
        output_type=Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()]),
    ).print("aggwf")
    w().aggregate(Avg()).print("agg")
    w().aggregate(Avg(), accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]), output_type=Types.DOUBLE()).print(
        "aggt"
    )
    w().reduce(R()).print("red")
    w().reduce(R(), window_function=WF(), output_type=Types.TUPLE([Types.STRING(), tt, Types.LONG()])).print("redwf")
    w().reduce(lambda a, b: (a[0], a[1] + b[1]), PW()).print("redpw")
    ds.key_by(lambda x: x[0]).window(EventTimeSessionWindows.with_gap(Time.milliseconds(4))).aggregate(
        Avg(), PW()
    ).print("ses")
    ds.key_by(lambda x: x[0]).window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))).aggregate(
        Avg()
    ).print("slide")
    env.execute()
