"""Metrics of a function."""

from rekindle.common import Types
from rekindle.datastream import MapFunction


class M(MapFunction):
    def open(self, ctx):
        g = ctx.get_metrics_group()
        self.c = g.counter("c")
        self.n = 0
        g.gauge("g", lambda: self.n)
        self.m = g.meter("m")
        self.d = g.distribution("d")
        self.sub = g.add_group("sub", "x").counter("c2")

    def map(self, v):
        self.c.inc()
        self.c.inc(2)
        self.c.dec()
        self.n += 1
        self.m.mark_event()
        self.d.update(v)
        self.sub.inc(5)
        return v, self.c.get_count(), self.sub.get_count()


def main(env):
    env.from_collection([1, 2], Types.INT()).map(M()).print()
    env.execute()
