"""Aggregating and reducing state."""

from rekindle.common import Types
from rekindle.datastream import AggregateFunction, MapFunction
from rekindle.datastream.state import AggregatingStateDescriptor, ReducingStateDescriptor


class Avg(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def add(self, v, acc):
        acc[0] += v
        acc[1] += 1
        return acc

    def get_result(self, acc):
        return acc[0] / acc[1]

    def merge(self, a, b):
        return [a[0] + b[0], a[1] + b[1]]


class F(MapFunction):
    def open(self, ctx):
        self.a = ctx.get_aggregating_state(AggregatingStateDescriptor("a", Avg(), Types.PICKLED_BYTE_ARRAY()))
        self.r = ctx.get_reducing_state(ReducingStateDescriptor("r", lambda x, y: max(x, y), Types.LONG()))

    def map(self, v):
        self.a.add(v[1])
        self.r.add(v[1])
        return v[0], self.a.get(), self.r.get()


def main(env):
    env.from_collection([("a", 1), ("a", 4), ("b", 7), ("a", 1), ("b", 2)]).key_by(lambda v: v[0]).map(F()).print()
    env.execute()
