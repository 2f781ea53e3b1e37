"""Windows of so many elements, with every kind of function."""

from rekindle.common import Types
from rekindle.datastream import AggregateFunction, ProcessWindowFunction, WindowFunction


class Sum(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, sum(i[1] for i in inputs), str(window))]


class PW(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, [e[1] for e in elements]

    def clear(self, context):
        pass


class Avg(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, v, a):
        return a[0] + v[1], a[1] + 1

    def get_result(self, a):
        return a[0] / a[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def main(env):
    data = [("a", i) for i in range(7)] + [("b", i) for i in range(4)]
    ds = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()]))

    def k():
        return ds.key_by(lambda x: x[0], key_type=Types.STRING())

    k().count_window(2).apply(Sum()).print("apply")
    env.execute()
    k().count_window(3).process(PW()).print("process")
    env.execute()
    k().count_window(3, 2).process(PW()).print("slide")
    env.execute()
    k().count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1])).print("reduce")
    env.execute()
    k().count_window(2).aggregate(Avg(), output_type=Types.DOUBLE()).print("agg")
    env.execute()
    k().count_window(2).aggregate(Avg(), PWA()).print("aggw")
    env.execute()
    k().count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1]), PWA()).print("redw")
    env.execute()


class PWA(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [(key, list(elements))]
