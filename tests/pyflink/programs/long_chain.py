"""Many operators in a row."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection(list(range(1, 21)), Types.INT())
    ds.map(lambda x: x * 3).filter(lambda x: x % 2 == 0).flat_map(lambda x: [x, -x]).map(lambda x: (x % 5, x)).key_by(
        lambda t: t[0]
    ).reduce(lambda a, b: (a[0], a[1] + b[1])).filter(lambda t: t[1] > 0).map(
        lambda t: f"{t[0]}={t[1]}", Types.STRING()
    ).print()
    env.execute()
