"""Side outputs of window functions."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import OutputTag, ProcessWindowFunction, WindowFunction
from rekindle.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

BIG = OutputTag("big", Types.STRING())


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class PW(ProcessWindowFunction):
    def process(self, key, ctx, els):
        n = sum(e[1] for e in els)
        if n > 10:
            yield BIG, f"{key}:{n}"
        else:
            yield key, n


class Nothing(WindowFunction):
    def apply(self, key, window, inputs):
        return [] if key == "a" else [(key, window.start)]


def main(env):
    ds = env.from_collection(
        [("a", 1), ("b", 3), ("a", 12), ("b", 4), ("c", 22), ("c", 29)], Types.TUPLE([Types.STRING(), Types.INT()])
    ).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA()))
    k = ds.key_by(lambda x: x[0], key_type=Types.STRING())
    m = k.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(
        PW(), Types.TUPLE([Types.STRING(), Types.INT()])
    )
    m.print("main")
    m.get_side_output(BIG).print("big")
    k.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).apply(Nothing()).print("nothing")
    k.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).reduce(lambda a, b: (a[0], a[1] + b[1])).print(
        "session"
    )
    k.count_window(2, 1).reduce(lambda a, b: (a[0], a[1] + b[1])).print("slide")
    env.execute()
