"""What filter functions may return."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection([0, 1, 2], Types.INT())
    ds.filter(lambda x: x).print("int")
    ds.filter(lambda x: "" if x == 1 else "yes").print("str")
    ds.filter(lambda x: None).print("none")
    env.execute()
