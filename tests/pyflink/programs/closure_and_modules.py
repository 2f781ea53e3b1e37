"""Functions with closures, globals and state of their own."""

import collections
import math

from rekindle.common import Types

OFFSET = 7
Point = collections.namedtuple("Point", "x y")


def helper(v):
    return math.sqrt(v) + OFFSET


def make_adder(n):
    def add(v):
        return v + n

    return add


class Acc:
    def __init__(self):
        self.total = 0

    def __call__(self, v):
        self.total += v
        return self.total


def main(env):
    ds = env.from_collection([1, 4, 9], Types.INT())
    ds.map(helper, Types.DOUBLE()).print("h")
    ds.map(make_adder(5), Types.INT()).print("add")
    ds.map(Acc()).print("acc")
    ds.map(lambda v: Point(v, v)).map(lambda p: p.x + p.y).print("pt")
    ds.map(lambda v: Point(v, v)).print("ptp")
    ds.map(str).print("str")
    ds.map(float, Types.DOUBLE()).print("float")
    env.execute()
