"""Print collections as they are."""

from rekindle.common import Types


def main(env):
    env.from_collection([1, 2, 3]).print()
    env.execute()
    env.from_collection([(1, "a"), (2, "b")]).print()
    env.execute()
    env.from_collection([(1, "a"), (2, None)], Types.ROW([Types.INT(), Types.STRING()])).print("id")
    env.execute()
    env.from_collection([1.5, 2.0], Types.DOUBLE()).print()
    env.execute()
    env.from_collection([True], Types.BOOLEAN()).print()
    env.execute()
    env.from_collection(["a"]).map(lambda x: x.upper(), Types.STRING()).print()
    env.execute()
    env.from_collection(iter([1, 2]), Types.INT()).print()
    env.execute()
