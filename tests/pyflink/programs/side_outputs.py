"""Side outputs of process functions, keyed and not."""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, OutputTag, ProcessFunction

T1 = OutputTag("odd", Types.INT())
T2 = OutputTag("big")


class P(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        if value % 2:
            yield T1, value
        if value > 3:
            yield T2, ("big", value)


class K(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield T1, value * 10
        yield "main", value, ctx.get_current_key()


def main(env):
    ds = env.from_collection([1, 2, 3, 4, 5], Types.INT()).process(P(), Types.INT())
    a = ds.get_side_output(T1)
    b = ds.get_side_output(T2)
    ds.print("main")
    a.print("odd")
    b.print("big")
    env.execute()
    m = env.from_collection([1, 2, 3], Types.INT()).key_by(lambda x: x % 2).process(K())
    s = m.get_side_output(T1).map(lambda x: x + 1)
    m.print("m")
    s.print("s")
    env.execute()
