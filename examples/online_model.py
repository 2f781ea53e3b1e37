"""Train a model on a stream: its parameters are the state.

For every machine a line is fitted that tells its temperature from its speed. Each reading is first predicted by the
model as it is, then the model learns from the error (stochastic gradient descent). A checkpoint holds the models as
they are; after a failure they go on learning from there.
"""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ReducingStateDescriptor, ValueStateDescriptor

LEARNING_RATE = 0.5
ROUND = 50  # tell how well the model does after so many readings

truth = {"press": (2.0, 20.0), "lathe": (-1.0, 35.0)}  # slope and intercept, which the models do not know
speeds = [(number * 7 % 10) / 10 for number in range(5 * ROUND)]
readings = [(machine, x, slope * x + intercept) for x in speeds for machine, (slope, intercept) in truth.items()]


def predict(model, x):
    slope, intercept = model
    return slope * x + intercept


def learn(model, x, error):
    slope, intercept = model
    return slope - LEARNING_RATE * error * x, intercept - LEARNING_RATE * error


class Train(KeyedProcessFunction):
    def open(self, runtime_context):
        line = Types.TUPLE([Types.DOUBLE(), Types.DOUBLE()])
        self.model = runtime_context.get_state(ValueStateDescriptor("slope and intercept", line))
        self.seen = runtime_context.get_state(ValueStateDescriptor("readings seen", Types.INT()))
        worst = ReducingStateDescriptor("worst error of this round", max, Types.DOUBLE())
        self.worst = runtime_context.get_reducing_state(worst)

    def process_element(self, reading, ctx):
        machine, x, temperature = reading
        model = self.model.value() or (0.0, 0.0)
        error = predict(model, x) - temperature
        self.model.update(learn(model, x, error))
        self.worst.add(abs(error))
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        if seen % ROUND == 0:
            slope, intercept = self.model.value()
            line = f"temperature = {slope:.2f} * speed + {intercept:.2f}"
            yield f"{machine} after {seen} readings: off by {self.worst.get():.3f} at most, {line}"
            self.worst.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(readings).key_by(lambda reading: reading[0]).process(Train()).print()
env.execute("online model")
