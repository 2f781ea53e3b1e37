"""Bring together two streams that belong together: each taxi ride with its fare, whichever comes first.

What comes first waits in state. If the other half does not come within an hour of event time, a side output tells so,
and the state is cleared: it would grow for ever.
"""

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedCoProcessFunction, OutputTag, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor

HOUR = 60  # times are minutes here
rides = [(1, 0, "to the airport"), (2, 10, "to the port"), (3, 15, "to the zoo")]  # ride, minute, where to
fares = [(2, 5, 31.50), (1, 25, 44.00), (4, 30, 12.00)]  # ride, minute, amount
UNMATCHED = OutputTag("unmatched", Types.STRING())


class Minute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Enrich(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.ride = runtime_context.get_state(ValueStateDescriptor("waiting ride", Types.STRING()))
        self.fare = runtime_context.get_state(ValueStateDescriptor("waiting fare", Types.DOUBLE()))
        self.waits_until = runtime_context.get_state(ValueStateDescriptor("waits until", Types.LONG()))

    def process_element1(self, ride, ctx):
        if self.fare.value() is None:
            self.ride.update(ride[2])
            self.wait(ctx)
        else:
            yield self.matched(ctx, ride[2], self.fare.value())

    def process_element2(self, fare, ctx):
        if self.ride.value() is None:
            self.fare.update(fare[2])
            self.wait(ctx)
        else:
            yield self.matched(ctx, self.ride.value(), fare[2])

    def wait(self, ctx):
        self.waits_until.update(ctx.timestamp() + HOUR)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + HOUR)

    def matched(self, ctx, destination, amount):
        ctx.timer_service().delete_event_time_timer(self.waits_until.value())
        self.clear()
        return f"ride {ctx.get_current_key()} {destination}: {amount:.2f}"

    def clear(self):
        for state in (self.ride, self.fare, self.waits_until):
            state.clear()

    def on_timer(self, timestamp, ctx):
        half = "fare" if self.ride.value() is not None else "ride"
        yield UNMATCHED, f"no {half} for ride {ctx.get_current_key()} until minute {timestamp}"
        self.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minute())
ride_stream = env.from_collection(rides).assign_timestamps_and_watermarks(times)
fare_stream = env.from_collection(fares).assign_timestamps_and_watermarks(times)
both = ride_stream.connect(fare_stream).key_by(lambda ride: ride[0], lambda fare: fare[0])
enriched = both.process(Enrich(), Types.STRING())
enriched.print("matched")
enriched.get_side_output(UNMATCHED).print("unmatched")
env.execute("rides and fares")
