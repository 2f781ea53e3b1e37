"""Keep state in map, flat_map and filter functions."""

from rekindle.common import Types
from rekindle.datastream import FilterFunction, FlatMapFunction, MapFunction
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor


class M(MapFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("c", Types.LONG()))

    def map(self, value):
        c = (self.s.value() or 0) + 1
        self.s.update(c)
        return value[0], value[1], c


class FM(FlatMapFunction):
    def open(self, ctx):
        self.s = ctx.get_list_state(ListStateDescriptor("c", Types.PICKLED_BYTE_ARRAY()))

    def flat_map(self, value):
        self.s.add(value)
        vals = list(self.s)
        if len(vals) >= 2:
            yield from vals
            self.s.clear()


class Fi(FilterFunction):
    def open(self, ctx):
        self.s = ctx.get_map_state(MapStateDescriptor("c", Types.INT(), Types.BOOLEAN()))

    def filter(self, value):
        if value[1] in self.s:
            return False
        self.s[value[1]] = True
        return True


def main(env):
    ds = env.from_collection(
        [("a", 1), ("b", 1), ("a", 1), ("a", 2), ("b", 1), ("b", 3)], Types.TUPLE([Types.STRING(), Types.INT()])
    )
    k = ds.key_by(lambda v: v[0])
    k.map(M()).print()
    env.execute()
    k = ds.key_by(lambda v: v[0])
    k.flat_map(FM()).print()
    env.execute()
    k = ds.key_by(lambda v: v[0])
    k.filter(Fi()).print()
    env.execute()
    k = ds.key_by(lambda v: v[0])
