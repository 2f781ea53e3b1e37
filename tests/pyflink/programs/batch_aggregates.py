"""Aggregates in batch mode: one result for each key."""

from rekindle.common import Types
from rekindle.datastream import RuntimeExecutionMode


def main(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    data = [("a", 3, 1), ("a", 1, 2), ("b", 5, 3), ("a", 1, 4), ("a", 9, 5)]
    t = Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.INT()])
    for m in ("sum", "min", "max", "min_by", "max_by"):
        getattr(env.from_collection(data, t).key_by(lambda x: x[0], key_type=Types.STRING()), m)("v").print(m)
    env.execute()
