"""A watermark behind every element: what comes behind it is late, and windows fire as time passes."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, OutputTag, ProcessWindowFunction
from rekindle.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)


class PerElement(WatermarkGenerator):
    """Emit the timestamp of each element as a watermark."""

    def on_event(self, event, event_timestamp, output):
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output):
        pass


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value[1])


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        values = ",".join(str(e[1]) for e in elements)
        yield f"{key} [{window.start},{window.end}) {values} at {context.current_watermark()}"

    def clear(self, context):
        pass


class Watch(KeyedProcessFunction):
    """Show the watermark that each element sees, and set a timer just behind it."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 2)
        yield f"{value[0]}{value[1]} sees {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} timer {timestamp} at {ctx.timer_service().current_watermark()}"


EVENTS = [("a", 1), ("a", 8), ("b", 3), ("a", 6), ("a", 4), ("b", 11), ("a", 7), ("a", 15), ("b", 12), ("a", 2)]
TYPE = Types.TUPLE([Types.STRING(), Types.INT()])


def main(env):
    strategy = WatermarkStrategy.for_generator(PerElement).with_timestamp_assigner(Second())
    keyed = (
        env.from_collection(EVENTS, type_info=TYPE)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda event: event[0], key_type=Types.STRING())
    )
    late, too_late = (OutputTag(name, Types.TUPLE([Types.STRING(), Types.INT()])) for name in ("late", "too late"))
    tumbling = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
        .side_output_late_data(late)
        .process(Show(), Types.STRING())
    )
    tumbling.print("tumbling")
    tumbling.get_side_output(late).print("late")
    lenient = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
        .allowed_lateness(4)
        .side_output_late_data(too_late)
        .process(Show(), Types.STRING())
    )
    lenient.print("lenient")
    lenient.get_side_output(too_late).print("too late")
    keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3))).process(
        Show(), Types.STRING()
    ).print("sliding")
    keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(3))).process(Show(), Types.STRING()).print(
        "session"
    )
    keyed.process(Watch(), Types.STRING()).print("watch")
    env.execute()
