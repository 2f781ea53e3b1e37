"""Timers in processing time that are due at once, and that never are."""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction


class F(KeyedProcessFunction):
    def process_element(self, v, ctx):
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() - 10)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 100000000)
        yield "e", v

    def on_timer(self, timestamp, ctx):
        yield "t", ctx.get_current_key(), ctx.time_domain().name


def main(env):
    env.from_collection([1, 2], Types.INT()).key_by(lambda x: x).process(F()).print()
    env.execute()
