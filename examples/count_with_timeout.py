"""Count the events of each key, and tell the count when there was none for a minute of event time.

This is the example of Flink's page on process functions.
"""

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor

MINUTE = 60_000  # milliseconds

clicks = [  # user, second
    ("ada", 0),
    ("bob", 10),
    ("ada", 50),
    ("bob", 120),  # ada has not clicked for a minute: her count is told
    ("ada", 130),
    ("bob", 200),  # and again
]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class BehindEveryClick(WatermarkGenerator):
    """Lets event time follow every click. The built-in strategies look every 200 ms: too rarely for six clicks."""

    def on_event(self, event, timestamp, output):
        output.emit_watermark(timestamp - 1)

    def on_periodic_emit(self, output):
        pass


class CountWithTimeout(KeyedProcessFunction):
    def open(self, runtime_context):
        count_and_last = Types.TUPLE([Types.INT(), Types.LONG()])
        self.state = runtime_context.get_state(ValueStateDescriptor("count, last modified", count_and_last))

    def process_element(self, click, ctx):
        count, _ = self.state.value() or (0, None)
        self.state.update((count + 1, ctx.timestamp()))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE)

    def on_timer(self, timestamp, ctx):
        count, last_modified = self.state.value()
        if timestamp == last_modified + MINUTE:  # else there was a click since this timer was set
            yield f"{ctx.get_current_key()}: {count} clicks up to second {last_modified // 1000}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
times = WatermarkStrategy.for_generator(BehindEveryClick).with_timestamp_assigner(ClickTime())
stream = env.from_collection(clicks).assign_timestamps_and_watermarks(times)
stream.key_by(lambda click: click[0]).process(CountWithTimeout()).print()
env.execute("count with timeout")
