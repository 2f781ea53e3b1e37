"""A window assigner of one's own."""

from rekindle.common import Types
from rekindle.datastream import WindowFunction
from rekindle.datastream.window import CountWindow, CountWindowSerializer, Trigger, TriggerResult, WindowAssigner


class SumF(WindowFunction[tuple, tuple, str, CountWindow]):
    def apply(self, key, window, inputs):
        return [(key, sum(i[0] for i in inputs), window.id)]


class SimpleTrigger(Trigger[tuple, CountWindow]):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE if element[0] == 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class Assigner(WindowAssigner[tuple, CountWindow]):
    def assign_windows(self, element, timestamp, context):
        return [CountWindow(element[0] % 2), CountWindow(9)]

    def get_default_trigger(self, env):
        return SimpleTrigger()

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


def main(env):
    env.from_collection(
        [(1, "a"), (3, "a"), (2, "a"), (3, "b"), (3, "a")], Types.TUPLE([Types.INT(), Types.STRING()])
    ).key_by(lambda x: x[1]).window(Assigner()).apply(
        SumF(), Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
    ).print()
    env.execute()
