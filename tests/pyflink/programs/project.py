"""Choose fields of tuples."""

from rekindle.common import Types


def main(env):
    t = Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()])
    env.from_collection([(1, "a", 2.5), (2, "b", 3.0)], t).project(2, 0).print("p")
    env.from_collection([(1, "a", 2.5), (2, "b", 3.0)], t).project(1).print("q")
    p = env.from_collection([(1, "a", 2.5)], t).project(1, 1)
    print(p.get_type())
    p.map(lambda x: x).print("r")
    env.execute()
