"""Keys of many types."""

from rekindle.common import Row, Types
from rekindle.datastream import KeyedProcessFunction, KeySelector


class F(KeyedProcessFunction):
    def open(self, ctx):
        from rekindle.datastream.state import ValueStateDescriptor

        self.s = ctx.get_state(ValueStateDescriptor("s", Types.INT()))

    def process_element(self, v, ctx):
        self.s.update((self.s.value() or 0) + 1)
        yield repr(ctx.get_current_key()), self.s.value()


class KS(KeySelector):
    def get_key(self, value):
        return value % 2


def main(env):
    ds = env.from_collection([1, 2, 3], Types.INT())
    ds.key_by(KS()).process(F()).print("ks")
    ds.key_by(lambda x: (x % 2, "a")).process(F()).print("tuple")
    ds.key_by(lambda x: None).process(F()).print("none")
    ds.key_by(lambda x: x % 2 == 0, key_type=Types.BOOLEAN()).process(F()).print("bool")
    ds.key_by(lambda x: x / 2, key_type=Types.DOUBLE()).process(F()).print("double")
    ds.key_by(lambda x: str(x % 2), key_type=Types.STRING()).process(F()).print("str")
    ds.key_by(lambda x: (x % 2, "a"), key_type=Types.TUPLE([Types.INT(), Types.STRING()])).process(F()).print("ttuple")
    ds.key_by(lambda x: Row(x % 2, "a"), key_type=Types.ROW([Types.INT(), Types.STRING()])).process(F()).print("row")
    ds.key_by(lambda x: Row(a=x % 2)).process(F()).print("urow")
    ds.key_by(lambda x: frozenset([x % 2])).process(F()).print("fs")
    ds.key_by(lambda x: b"ab").process(F()).print("bytes")
    ds.key_by(lambda x: 1.0 if x == 1 else True if x == 2 else 1).process(F()).print("ones")
    env.execute()
