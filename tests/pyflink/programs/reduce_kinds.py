"""Reduce records of several types."""

from rekindle.common import Row, Types
from rekindle.datastream import ReduceFunction


class R(ReduceFunction):
    def reduce(self, a, b):
        return Row(a[0], a[1] + b[1])


def main(env):
    env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.ROW([Types.STRING(), Types.INT()])).key_by(
        lambda r: r[0], key_type=Types.STRING()
    ).reduce(R()).print("row")
    env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()])).key_by(
        lambda r: r[0], key_type=Types.STRING()
    ).reduce(lambda a, b: (a[0], a[1] * b[1])).print("tuple")
    env.from_collection([5, 3, 9], Types.INT()).key_by(lambda x: 0).reduce(lambda a, b: max(a, b)).print("int")
    env.from_collection(["x", "y"], Types.STRING()).key_by(lambda x: 0).reduce(lambda a, b: a + b).print("str")
    env.from_collection([0.1, 0.2], Types.FLOAT()).key_by(lambda x: 0).reduce(lambda a, b: a + b).print("float")
    env.from_collection([{"a": 1}, {"a": 2}]).key_by(lambda x: 0).reduce(lambda a, b: {"a": a["a"] + b["a"]}).print(
        "dict"
    )
    env.execute()
