"""A trigger of one's own, with state per window and per key."""

from rekindle.common import Types
from rekindle.datastream import ProcessWindowFunction
from rekindle.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import GlobalWindow, GlobalWindows, Trigger, TriggerResult


class T(Trigger[tuple, GlobalWindow]):
    def __init__(self):
        self._d = ReducingStateDescriptor("c", lambda a, b: a + b, Types.LONG())

    @staticmethod
    def of():
        return T()

    def on_element(self, element, timestamp, window, ctx):
        s = ctx.get_partitioned_state(self._d)
        s.add(1)
        if s.get() >= 3:
            s.clear()
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self._d).clear()


class PW(ProcessWindowFunction):
    def process(self, key, context, elements):
        g = context.global_state().get_state(ValueStateDescriptor("g", Types.INT()))
        w = context.window_state().get_state(ValueStateDescriptor("w", Types.INT()))
        g.update((g.value() or 0) + 1)
        w.update((w.value() or 0) + 1)
        yield key, sorted(e[1] for e in elements), g.value(), w.value(), str(type(context.window()).__name__)


def main(env):
    ds = env.from_collection([("a", i) for i in range(7)] + [("b", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    ds.key_by(lambda x: x[0]).window(GlobalWindows.create()).trigger(T()).process(PW()).print()
    env.execute()
