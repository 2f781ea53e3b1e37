"""What process functions may return."""

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, ProcessFunction


class A(ProcessFunction):
    def process_element(self, v, ctx):
        return [v, v + 1]


class B(ProcessFunction):
    def process_element(self, v, ctx):
        return None


class C(KeyedProcessFunction):
    def process_element(self, v, ctx):
        return (x for x in range(v))


class D(KeyedProcessFunction):
    def process_element(self, v, ctx):
        return (v, "t")


def main(env):
    ds = env.from_collection([1, 2], Types.INT())
    ds.process(A()).print("A")
    ds.process(B()).print("B")
    ds.key_by(lambda x: x).process(C()).print("C")
    ds.key_by(lambda x: x).process(D()).print("D")
    env.execute()
