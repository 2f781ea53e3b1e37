"""Functions that are opened."""

from rekindle.common import Types
from rekindle.datastream import FilterFunction, FlatMapFunction, KeySelector, MapFunction, ReduceFunction


class M(MapFunction):
    def __init__(self, n):
        self.n = n

    def open(self, ctx):
        self.n += 100

    def map(self, v):
        return v + self.n

    def close(self):
        pass


class FM(FlatMapFunction):
    def open(self, ctx):
        self.buf = []

    def flat_map(self, v):
        self.buf.append(v)
        if len(self.buf) == 2:
            yield tuple(self.buf)
            self.buf = []


class KS(KeySelector):
    def open(self, ctx):
        self.c = 5

    def get_key(self, v):
        return v % 2


class RF(ReduceFunction):
    def open(self, ctx):
        self.k = 1000

    def reduce(self, a, b):
        return a + b + self.k


class Fi(FilterFunction):
    def open(self, ctx):
        self.seen = set()

    def filter(self, v):
        r = v not in self.seen
        self.seen.add(v)
        return r


def main(env):
    ds = env.from_collection([1, 2, 1, 4], Types.INT())
    ds.map(M(1)).print("m")
    ds.flat_map(FM()).print("fm")
    ds.filter(Fi()).print("f")
    ds.key_by(KS()).reduce(RF()).print("r")
    env.execute()
