"""Windows over rows."""

from rekindle.common import Duration, Row, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, ProcessWindowFunction
from rekindle.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

RT = Types.ROW_NAMED(["user", "ts", "amount"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v.ts


class Sum(AggregateFunction):
    def create_accumulator(self):
        return Row(0.0, 0)

    def add(self, v, a):
        return Row(a[0] + v.amount, a[1] + 1)

    def get_result(self, a):
        return a[0] / a[1]

    def merge(self, a, b):
        return Row(a[0] + b[0], a[1] + b[1])


class PW(ProcessWindowFunction):
    def process(self, key, ctx, els):
        for e in els:
            yield Row(key, ctx.window().end, e)


def main(env):
    data = [
        Row("u1", 1000, 5.0),
        Row("u2", 1500, 7.0),
        Row("u1", 4000, 1.0),
        Row("u3", 2500, 2.0),
        Row("u1", 9000, 3.0),
        Row("u2", 9500, 4.0),
        Row("u3", 9999, 8.0),
    ]
    ds = env.from_collection(data, RT).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(TA())
    )
    k = ds.key_by(lambda r: r.user, key_type=Types.STRING())
    k.window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(
        lambda a, b: Row(a.user, b.ts, a.amount + b.amount)
    ).print("reduce")
    k.window(TumblingEventTimeWindows.of(Time.seconds(5))).aggregate(
        Sum(),
        PW(),
        accumulator_type=Types.ROW([Types.DOUBLE(), Types.INT()]),
        output_type=Types.ROW([Types.STRING(), Types.LONG(), Types.DOUBLE()]),
    ).print("aggregate")
    k.window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))).aggregate(
        Sum(), output_type=Types.DOUBLE()
    ).print("sliding")
    k.window(EventTimeSessionWindows.with_gap(Time.seconds(4))).reduce(
        lambda a, b: Row(a.user, b.ts, a.amount + b.amount)
    ).print("session")
    env.execute()
