"""Count the events of each key, and tell the count when there was none for a minute of event time.

This is the example of Flink's page on process functions.
"""

from rekindle.common import Configuration, Types, WatermarkStrategy
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


# Event time goes on between epochs, and all of this fits into one. So every click gets an epoch of its own.
settings = Configuration.from_dict({"rekindle.epoch.max-records": "1"})
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ClickTime())
stream = env.from_collection(clicks).assign_timestamps_and_watermarks(times)
stream.key_by(lambda click: click[0]).process(CountWithTimeout()).print()
env.execute("count with timeout")
