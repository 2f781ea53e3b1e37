"""Two broadcast states, with timers on the keyed side."""

from rekindle.common import Types
from rekindle.datastream import KeyedBroadcastProcessFunction
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor

A = MapStateDescriptor("a", Types.STRING(), Types.INT())
B = MapStateDescriptor("b", Types.STRING(), Types.STRING())


class F(KeyedBroadcastProcessFunction):
    def open(self, ctx):
        self.n = ctx.get_state(ValueStateDescriptor("n", Types.INT()))

    def process_element(self, v, ctx):
        c = (self.n.value() or 0) + 1
        self.n.update(c)
        ro = ctx.get_broadcast_state(A)
        yield v[0], v[1], ro.get(v[0]), ctx.get_broadcast_state(B).get(v[0]), c, v[0] in ro, sorted(ro.keys())
        ctx.timer_service().register_event_time_timer(c)

    def process_broadcast_element(self, v, ctx):
        ctx.get_broadcast_state(A).put(v[0], v[1])
        ctx.get_broadcast_state(B)[v[0]] = str(v[1])
        if v[1] == 9:
            ctx.get_broadcast_state(A).remove(v[0])

    def on_timer(self, ts, ctx):
        yield "timer", ts, ctx.get_current_key(), sorted(ctx.get_broadcast_state(A).items())


def main(env):
    t = Types.TUPLE([Types.STRING(), Types.INT()])
    rules = env.from_collection([("x", 1), ("y", 2), ("z", 9), ("x", 3)], t)
    data = env.from_collection([("x", 10), ("y", 20), ("x", 30), ("q", 40)], t)
    data.key_by(lambda v: v[0], key_type=Types.STRING()).connect(rules.broadcast(A, B)).process(F()).print()
    env.execute()
