"""Timers of one timestamp, some of them deleted."""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction


class F(KeyedProcessFunction):
    def process_element(self, v, ctx):
        t = ctx.timer_service()
        t.register_event_time_timer(5)
        t.register_event_time_timer(3 + v % 3)
        if v % 4 == 3:
            t.delete_event_time_timer(5)
        if v % 5 == 0:
            t.register_event_time_timer(20 - v)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.get_current_key()


def main(env):
    env.from_collection(list(range(24)), Types.INT()).key_by(lambda x: x, key_type=Types.INT()).process(F()).print()
    env.execute()
