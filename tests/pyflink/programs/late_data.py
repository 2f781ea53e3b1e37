"""Late data in a side output: there is none in a bounded collection."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import OutputTag, ProcessWindowFunction
from rekindle.datastream.window import TumblingEventTimeWindows


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class PW(ProcessWindowFunction):
    def process(self, key, context, elements):
        w = context.window()
        yield key, w.start, w.end, [e[1] for e in elements]


def main(env):
    tag = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT()]))
    data = [("a", 1), ("a", 2), ("a", 8), ("b", 3), ("a", 4)]
    ds = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    )
    m = (
        ds.key_by(lambda x: x[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
        .allowed_lateness(0)
        .side_output_late_data(tag)
        .process(PW(), Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.LIST(Types.INT())]))
    )
    m.print("main")
    m.get_side_output(tag).print("late")
    env.execute()
