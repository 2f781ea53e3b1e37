"""A job that fails for good."""

from __future__ import annotations

from rekindle.common import Configuration
from rekindle.datastream import StreamExecutionEnvironment

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"rekindle.progress": "log"}))
    env.set_parallelism(2)
    env.from_collection([1, 0]).rebalance().map(lambda n: 1 / n).print()
    env.execute("failing")
