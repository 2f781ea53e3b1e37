"""What can be computed over a window, from the cheapest to the mightiest way."""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import CountTrigger, TumblingEventTimeWindows

readings = [  # sensor, second, degrees
    ("cellar", 1, 12.0),
    ("attic", 3, 30.0),
    ("cellar", 5, 10.0),
    ("attic", 7, 32.0),
    ("cellar", 8, 13.0),
    ("cellar", 9, 11.0),
    ("cellar", 12, 8.0),
    ("attic", 15, 29.0),
    ("cellar", 18, 9.0),
]


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Average(AggregateFunction):
    """An accumulator and how it grows; a window keeps nothing but the accumulator."""

    def create_accumulator(self):
        return 0.0, 0  # sum and count

    def add(self, reading, accumulator):
        return accumulator[0] + reading[2], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class WithWindow(ProcessWindowFunction):
    """Sees key and window. After a reduce or an aggregate there is one element, their result."""

    def process(self, sensor, context, averages):
        (average,) = averages
        yield f"{sensor}, {context.window().start // 1000} s: {average:.1f}"


class EarlyResults(ProcessWindowFunction):
    """Sees all elements of a window, which are all kept. The trigger below lets it run for every two new ones."""

    def process(self, sensor, context, elements):
        runs = context.window_state().get_state(ValueStateDescriptor("runs", Types.INT()))  # of this window only
        runs.update((runs.value() or 0) + 1)
        degrees = [degrees for _, _, degrees in elements]
        yield f"{sensor}, {context.window().start // 1000} s, result {runs.value()}: {degrees}"

    def clear(self, context):
        """Clean up when the window is over: per-window state is not dropped by itself."""
        context.window_state().get_state(ValueStateDescriptor("runs", Types.INT())).clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ReadingTime())
stream = env.from_collection(readings).assign_timestamps_and_watermarks(times)
by_sensor = stream.key_by(lambda reading: reading[0])
ten_seconds = TumblingEventTimeWindows.of(Time.seconds(10))

by_sensor.window(ten_seconds).reduce(lambda a, b: min(a, b, key=lambda reading: reading[2])).print("coldest")
by_sensor.window(ten_seconds).aggregate(Average(), WithWindow()).print("average")
by_sensor.window(ten_seconds).trigger(CountTrigger.of(2)).process(EarlyResults()).print("early")
env.execute("window functions")
