"""Union, and all kinds of functions on connected streams."""

from rekindle.common import Types
from rekindle.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from rekindle.datastream.state import ValueStateDescriptor


class CM(CoMapFunction):
    def map1(self, v):
        return f"1:{v}"

    def map2(self, v):
        return f"2:{v}" if v > 10 else None


class CF(CoFlatMapFunction):
    def flat_map1(self, v):
        yield from range(v)

    def flat_map2(self, v):
        if v > 10:
            yield v


class CP(CoProcessFunction):
    def process_element1(self, v, ctx):
        yield "p1", v

    def process_element2(self, v, ctx):
        yield "p2", v


class KP(KeyedCoProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", Types.INT()))

    def process_element1(self, v, ctx):
        t = (self.s.value() or 0) + v[1]
        self.s.update(t)

    def process_element2(self, v, ctx):
        t = (self.s.value() or 0) + v[1]
        self.s.update(t)
        yield ctx.get_current_key(), v[1]


def main(env):
    a = env.from_collection([1, 2], Types.INT())
    b = env.from_collection([10, 20], Types.INT())
    c = env.from_collection([100], Types.INT())
    a.union(b, c).map(lambda x: x + 1, Types.INT()).print("u")
    env.execute()
    a.connect(b).map(CM()).print("cm")
    env.execute()
    a.connect(b).map(CM(), output_type=Types.STRING()).print("cmt")
    env.execute()
    a.connect(b).flat_map(CF(), Types.INT()).print("cf")
    env.execute()
    a.connect(b).process(CP()).print("cp")
    env.execute()
    x = env.from_collection([("a", 1), ("b", 2)])
    y = env.from_collection([("a", 3), ("b", 4)])
    x.connect(y).key_by(lambda v: v[0], lambda v: v[0]).process(KP()).print("kp")
    env.execute()
    x.key_by(lambda v: v[0]).connect(y.key_by(lambda v: v[0])).process(
        KP(), Types.TUPLE([Types.STRING(), Types.INT()])
    ).print("kp2")
    env.execute()
    x.key_by(lambda v: v[0]).connect(y.key_by(lambda v: v[0])).map(CMK(), Types.STRING()).print("km")
    env.execute()
    x.key_by(lambda v: v[0]).connect(y.key_by(lambda v: v[0])).flat_map(CFK()).print("kf")
    env.execute()


class CMK(CoMapFunction):
    def open(self, ctx: RuntimeContext):
        self.s = ctx.get_state(ValueStateDescriptor("n", Types.INT()))

    def map1(self, v):
        self.s.update((self.s.value() or 0) + 1)
        return f"{v[0]}"

    def map2(self, v):
        self.s.update((self.s.value() or 0) + 1)
        return f"{v[0]}"


class CFK(CoFlatMapFunction):
    def flat_map1(self, v):
        return [v, v]

    def flat_map2(self, v):
        return None
