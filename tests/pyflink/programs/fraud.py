"""Alerts in a side output, with timers that are deleted."""

from rekindle.common import Row, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, OutputTag
from rekindle.datastream.state import ValueStateDescriptor

ALERT = OutputTag("alerts", Types.STRING())


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[2]


class Fraud(KeyedProcessFunction):
    def open(self, ctx):
        self.flag = ctx.get_state(ValueStateDescriptor("flag", Types.BOOLEAN()))
        self.timer = ctx.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, v, ctx):
        if self.flag.value():
            if v.amount > 500:
                yield ALERT, f"{v.account}:{v.amount}"
            if self.timer.value() is not None:
                ctx.timer_service().delete_event_time_timer(self.timer.value())
            self.timer.clear()
            self.flag.clear()
        if v.amount < 1:
            self.flag.update(True)
            t = ctx.timestamp() + 60
            ctx.timer_service().register_event_time_timer(t)
            self.timer.update(t)
        yield v

    def on_timer(self, ts, ctx):
        self.flag.clear()
        self.timer.clear()
        yield ALERT, f"timeout {ctx.get_current_key()} {ts}"


def main(env):
    rt = Types.ROW_NAMED(["account", "amount", "ts"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])
    ds = env.from_collection(
        [Row("a", 0.5, 1), Row("a", 600.0, 2), Row("b", 0.1, 3), Row("b", 20.0, 4), Row("c", 0.2, 5)], rt
    )
    m = (
        ds.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA()))
        .key_by(lambda r: r.account, key_type=Types.STRING())
        .process(Fraud(), output_type=rt)
    )
    m.print("tx")
    m.get_side_output(ALERT).print("alert")
    env.execute()
