"""Sessions and averages kept by hand, in state."""

from rekindle.common import Types
from rekindle.datastream import FlatMapFunction, KeyedProcessFunction
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Sessions(KeyedProcessFunction):
    def open(self, ctx):
        self.last = ctx.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.pages = ctx.get_list_state(ListStateDescriptor("pages", Types.STRING()))

    def process_element(self, v, ctx):
        last = self.last.value()
        if last is not None and v[2] - last > 10:
            yield ctx.get_current_key(), list(self.pages.get())
            self.pages.clear()
        self.last.update(v[2])
        self.pages.add(v[1])


class Average(FlatMapFunction):
    def open(self, ctx):
        self.sum = ctx.get_state(ValueStateDescriptor("average", Types.PICKLED_BYTE_ARRAY()))

    def flat_map(self, value):
        current = self.sum.value() or (0, 0)
        current = (current[0] + 1, current[1] + value[1])
        self.sum.update(current)
        if current[0] >= 2:
            self.sum.clear()
            yield value[0], int(current[1] / current[0])


def main(env):
    clicks = [
        ("u1", "home", 1),
        ("u2", "home", 2),
        ("u1", "cart", 5),
        ("u1", "home", 30),
        ("u2", "help", 9),
        ("u2", "out", 40),
        ("u1", "x", 60),
    ]
    env.from_collection(clicks, Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])).key_by(
        lambda c: c[0], key_type=Types.STRING()
    ).process(Sessions()).print("sessions")
    env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)]).key_by(lambda row: row[0]).flat_map(Average()).print(
        "average"
    )
    env.execute()
