"""Running aggregates of tuples and rows, by place and by name."""

from rekindle.common import Types


def main(env):
    data = [("a", 3, 1), ("a", 1, 2), ("b", 5, 3), ("a", 1, 4), ("a", 9, 5)]
    for i, t in enumerate(
        (
            None,
            Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]),
            Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.INT()]),
        )
    ):
        ds = env.from_collection(data, t) if t else env.from_collection(data)
        for m in ("sum", "min", "max", "min_by", "max_by"):
            getattr(ds.key_by(lambda x: x[0]), m)(1).print(m + str(i))
    for m in ("sum", "min", "max", "min_by", "max_by"):
        getattr(env.from_collection(data, t).key_by(lambda x: x[0]), m)("v").print(m)
    env.execute()
