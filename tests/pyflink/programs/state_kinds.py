"""Keep all kinds of keyed state in one function."""

from rekindle.common import Types
from rekindle.datastream import AggregateFunction, KeyedProcessFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


class Agg(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, acc):
        return acc[0] + value, acc[1] + 1

    def get_result(self, acc):
        return acc[0] / acc[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class F(KeyedProcessFunction):
    def open(self, ctx):
        self.v = ctx.get_state(ValueStateDescriptor("v", Types.INT()))
        self.l = ctx.get_list_state(ListStateDescriptor("l", Types.INT()))
        self.m = ctx.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.INT()))
        self.r = ctx.get_reducing_state(ReducingStateDescriptor("r", lambda a, b: a + b, Types.INT()))
        self.a = ctx.get_aggregating_state(
            AggregatingStateDescriptor("a", Agg(), Types.TUPLE([Types.INT(), Types.INT()]))
        )

    def process_element(self, value, ctx):
        k, n = value
        out = [k, self.v.value(), list(self.l.get()), sorted(self.m.items()), self.r.get(), self.a.get()]
        self.v.update(n)
        self.l.add(n)
        self.m.put(str(n), n * n)
        self.r.add(n)
        self.a.add(n)
        yield str(out)
        if n == 3:
            self.l.update([7, 8])
            self.l.add_all([9])
            self.m.remove("1")
            yield str(
                (
                    k,
                    "m",
                    "2" in self.m,
                    self.m.contains("1"),
                    self.m.get("nope"),
                    sorted(self.m.keys()),
                    sorted(self.m.values()),
                    self.m.is_empty(),
                )
            )
            self.v.clear()
            self.r.clear()
            self.a.clear()


def main(env):
    data = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 5)]
    env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).key_by(
        lambda x: x[0], key_type=Types.STRING()
    ).process(F(), output_type=Types.STRING()).print()
    env.execute()
