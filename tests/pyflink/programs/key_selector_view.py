"""What a key selector sees of a record."""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction


class K(KeyedProcessFunction):
    def process_element(self, v, ctx):
        yield ctx.get_current_key(), v


def main(env):
    def floats():
        return env.from_collection([0.1]).map(lambda x: x, Types.FLOAT())

    floats().key_by(lambda v: v).process(K()).print("one")
    two = floats()
    two.key_by(lambda v: v).process(K()).print("two")
    two.key_by(lambda v: -v).process(K()).print("three")
    k = floats().key_by(lambda v: v)
    k.process(K()).print("same1")
    k.process(K()).print("same2")
    floats().union(floats()).key_by(lambda v: v).process(K()).print("union")
    mixed = floats()
    mixed.key_by(lambda v: v).process(K()).print("mixed")
    mixed.map(repr).print("forward")
    env.execute()
