"""Deal with events that come too late for their window.

A window of ten seconds gives its result when the watermark has passed its end. With an allowed lateness of five seconds
it is kept that much longer: an event that comes in that time gives a new, better result. What comes later still goes to
a side output.
"""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from rekindle.datastream.window import TumblingEventTimeWindows

SIZE, LATENESS = 10, 5
events = [  # second, what happened
    (3, "a"),
    (12, "b"),  # now the window from 0 to 10 is over: [a]
    (8, "c"),  # late, but its window is still there: [a, c]
    (27, "d"),  # now it is gone
    (9, "e"),  # too late
    (21, "f"),
]
TOO_LATE = OutputTag("too late", Types.TUPLE([Types.INT(), Types.STRING()]))


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0] * 1000


class BehindEveryEvent(WatermarkGenerator):
    """Lets event time follow every event. The built-in strategies look every 200 ms: too rarely for six events."""

    def on_event(self, event, timestamp, output):
        output.emit_watermark(timestamp - 1)

    def on_periodic_emit(self, output):
        pass


class ShowWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        start, end = context.window().start // 1000, context.window().end // 1000
        yield f"{start} to {end}: {', '.join(sorted(name for _, name in elements))}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
times = WatermarkStrategy.for_generator(BehindEveryEvent).with_timestamp_assigner(EventTime())
event_type = Types.TUPLE([Types.INT(), Types.STRING()])
stream = env.from_collection(events, event_type).assign_timestamps_and_watermarks(times)
windows = (
    stream.key_by(lambda event: "all")
    .window(TumblingEventTimeWindows.of(Time.seconds(SIZE)))
    .allowed_lateness(LATENESS * 1000)
    .side_output_late_data(TOO_LATE)
    .process(ShowWindow())
)
windows.print("window")
windows.get_side_output(TOO_LATE).map(lambda event: f"{event[1]} of second {event[0]}").print("too late")
env.execute("late data")
