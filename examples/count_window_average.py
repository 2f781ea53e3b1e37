"""Average every two numbers of a key: the first example of keyed state in Flink's documentation, with its input."""

from rekindle.common import Types
from rekindle.datastream import FlatMapFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor


class CountWindowAverage(FlatMapFunction):
    def open(self, runtime_context):
        count_and_sum = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.state = runtime_context.get_state(ValueStateDescriptor("count and sum", count_and_sum))

    def flat_map(self, value):
        key, number = value
        count, total = self.state.value() or (0, 0)  # None: there is no state for this key yet
        count, total = count + 1, total + number
        if count < 2:
            self.state.update((count, total))
        else:
            self.state.clear()
            yield key, total // count  # of whole numbers, as in Flink


numbers = [(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
averages = env.from_collection(numbers, pair).key_by(lambda value: value[0]).flat_map(CountWindowAverage(), pair)
averages.print()  # (1,4) and (1,5)
env.execute("count window average")
