"""Collections of many kinds."""

from rekindle.common import Types


def main(env):
    env.from_collection((1, 2, 3)).print("tuple")
    env.from_collection(range(3), Types.INT()).print("range")
    env.from_collection(x * x for x in range(3)).print("gen")
    env.from_collection({"a": 1, "b": 2}).print("dict")
    env.from_collection("abc").print("str")
    env.from_collection([[1, 2], [3]]).print("lists")
    env.from_collection([b"ab".hex()]).print("hex")
    env.from_collection(["ä", "日本"], Types.STRING()).print("uni")
    env.execute()
