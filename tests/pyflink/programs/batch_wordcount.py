"""Count words in batch mode."""

from rekindle.common import Types
from rekindle.datastream import RuntimeExecutionMode


def main(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    ds = env.from_collection(["a b a", "c b a"], Types.STRING())
    ds.flat_map(lambda s: s.split(), Types.STRING()).map(
        lambda w: (w, 1), Types.TUPLE([Types.STRING(), Types.INT()])
    ).key_by(lambda t: t[0], key_type=Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1])).print("wc")
    ds.map(lambda s: s.upper(), Types.STRING()).print("map")
    env.from_collection([5, 3, 9, 1], Types.INT()).key_by(lambda x: x % 2, key_type=Types.INT()).reduce(
        lambda a, b: a + b
    ).print("sum")
    env.execute()
