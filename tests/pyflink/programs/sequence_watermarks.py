"""Windows over a sequence of numbers."""

from rekindle.common import Duration, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.window import TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v * 10


def main(env):
    ds = env.from_source(
        NumberSequenceSource(1, 20), WatermarkStrategy.no_watermarks(), "seq", Types.LONG()
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(TA())
    )
    ds.key_by(lambda x: x % 2, key_type=Types.LONG()).window(TumblingEventTimeWindows.of(Time.milliseconds(50))).reduce(
        lambda a, b: a + b
    ).print()
    env.execute()
