"""Match two streams by key, with state, timers and a side output."""

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedCoProcessFunction, OutputTag
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor

UNMATCHED = OutputTag("unmatched", Types.STRING())


class TA(TimestampAssigner):
    def extract_timestamp(self, v, ts):
        return v[1]


class Match(KeyedCoProcessFunction):
    def open(self, ctx):
        self.order = ctx.get_state(ValueStateDescriptor("order", Types.LONG()))
        self.pays = ctx.get_list_state(ListStateDescriptor("pays", Types.LONG()))

    def process_element1(self, v, ctx):
        self.order.update(v[1])
        ctx.timer_service().register_event_time_timer(v[1] + 100)

    def process_element2(self, v, ctx):
        self.pays.add(v[1])
        ctx.timer_service().register_event_time_timer(v[1] + 100)

    def on_timer(self, ts, ctx):
        o, p = self.order.value(), sorted(self.pays.get())
        if o is not None and p:
            yield ctx.get_current_key(), o, p
        elif o is not None or p:
            yield UNMATCHED, f"{ctx.get_current_key()} {o} {p}"
        self.order.clear()
        self.pays.clear()


def main(env):
    t = Types.TUPLE([Types.STRING(), Types.LONG()])
    ws = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TA())
    orders = env.from_collection([("o1", 10), ("o2", 20), ("o3", 30)], t).assign_timestamps_and_watermarks(ws)
    pays = env.from_collection([("o1", 15), ("o1", 17), ("o4", 18), ("o3", 40)], t).assign_timestamps_and_watermarks(ws)
    m = (
        orders.key_by(lambda v: v[0], key_type=Types.STRING())
        .connect(pays.key_by(lambda v: v[0], key_type=Types.STRING()))
        .process(Match())
    )
    m.print("matched")
    m.get_side_output(UNMATCHED).print("unmatched")
    env.execute()
