"""Windows over the results of windows."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream.window import TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


def main(env):
    t = Types.TUPLE([Types.STRING(), Types.INT()])
    ds = env.from_collection(
        [("a", 1), ("b", 3), ("a", 12), ("b", 14), ("a", 25), ("c", 26)], t
    ).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA()))
    w = (
        ds.key_by(lambda x: x[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    w.print("first")
    w.window_all(TumblingEventTimeWindows.of(Time.milliseconds(20))).reduce(
        lambda a, b: (a[0] + b[0], a[1] + b[1])
    ).print("second")
    env.execute()
