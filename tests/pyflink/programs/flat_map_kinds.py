"""What flat_map functions may return."""

from rekindle.common import Types
from rekindle.datastream import FlatMapFunction


class F(FlatMapFunction):
    def flat_map(self, v):
        for w in v.split():
            yield w, len(w)


def main(env):
    ds = env.from_collection(["a bc", "def", ""], Types.STRING())
    ds.flat_map(F(), Types.TUPLE([Types.STRING(), Types.INT()])).print("cls")
    ds.flat_map(lambda s: s.split()).print("list")
    ds.flat_map(lambda s: (w for w in s.split()), output_type=Types.STRING()).print("gen")
    ds.flat_map(lambda s: set(s) and {s}).print("set")
    ds.flat_map(lambda s: {s: 1}).print("dict")
    ds.flat_map(lambda s: (s, s)).print("tup")
    ds.flat_map(lambda s: map(str.upper, s.split())).print("map")
    env.execute()
