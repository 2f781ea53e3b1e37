"""Print a stream more than once."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection([1], Types.INT())
    ds.print()
    ds.print("x")
    ds.map(lambda x: x + 1, Types.INT()).print("")
    env.execute()
