"""How far has event time come? Four ways of making watermarks, each followed event by event.

A watermark of 7 says: no event of time 7 or earlier is expected any more. It closes windows and fires timers.
"""

from rekindle.common import Configuration, Duration, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessFunction, StreamExecutionEnvironment

events = [(1, ""), (5, ""), (3, ""), (8, "end of hour"), (12, ""), (9, "")]  # time, remark
NONE_YET = -(2**63)


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


class AtTheEndOfTheHour(WatermarkGenerator):
    """A generator of one's own, which PyFlink has not: some events say how far time has come."""

    def on_event(self, event, timestamp, output):
        if event[1] == "end of hour":
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output):
        """Called every 200 ms, and at the end of an epoch. Here on_event has said all there is to say."""


class ShowTime(ProcessFunction):
    def process_element(self, event, ctx):
        watermark = ctx.timer_service().current_watermark()
        before = "none yet" if watermark == NONE_YET else watermark
        yield f"event of time {ctx.timestamp()}, watermark before it: {before}"


strategies = {
    # The highest time so far, minus one: another event of that very time may come.
    "monotonous": WatermarkStrategy.for_monotonous_timestamps(),
    # The highest time so far, minus two, minus one.
    "two behind": WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2)),
    # A stream without events for a minute does not hold back the others that it meets in a union or a connect.
    "may be idle": WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_minutes(1)),
    "own generator": WatermarkStrategy.for_generator(AtTheEndOfTheHour),
}

# Periodic watermarks come every 200 ms, and at the end of an epoch. Here every event gets an epoch of its own, so that
# one can watch them.
settings = Configuration.from_dict({"rekindle.epoch.max-records": "4"})  # one for each of the four streams
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
for name, strategy in strategies.items():
    stream = env.from_collection(events)
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))
    timed.process(ShowTime()).print(name)
env.execute("watermarks")
