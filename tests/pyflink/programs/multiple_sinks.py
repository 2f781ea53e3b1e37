"""Several sinks, and two jobs of one program."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection([1, 2, 3], Types.INT())
    e = ds.filter(lambda x: x % 2 == 0)
    o = ds.filter(lambda x: x % 2 == 1)
    e.print("even")
    o.print("odd")
    ds.map(lambda x: -x, Types.INT()).print("neg")
    e.union(o).map(lambda x: x * 10, Types.INT()).print("all")
    env.execute()
    ds.print("again")
    env.execute("second")
