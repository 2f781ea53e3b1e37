"""Add up floats of each key in a value state."""

from rekindle.common.typeinfo import Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import ValueStateDescriptor


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.FLOAT()))

    def process_element(self, value, ctx):
        current = self.state.value()
        if current is None:
            current = 0
        current += value[1]
        self.state.update(current)
        yield value[0], current


def main(env):
    ds = env.from_collection(
        [
            ("Alice", 110.1),
            ("Bob", 30.2),
            ("Alice", 20.0),
            ("Bob", 53.1),
            ("Alice", 13.1),
            ("Bob", 3.1),
            ("Bob", 16.1),
            ("Alice", 20.1),
        ],
        type_info=Types.TUPLE([Types.STRING(), Types.FLOAT()]),
    )
    ds.key_by(lambda value: value[0]).process(Sum()).print()
    env.execute()
