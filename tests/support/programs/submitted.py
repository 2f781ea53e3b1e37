"""A job that leaves it to others where Spark runs: submitted.py. It prints what Spark was told, then its results."""

from __future__ import annotations

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment

STARTED = "The session has started."
SHOWN = ("spark.master", "spark.app.name", "spark.task.maxFailures", "spark.speculation", "spark.ui.enabled")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    configuration = env.spark_session.sparkContext.getConf()
    for key in SHOWN:
        print(f"{key}={configuration.get(key)}", flush=True)
    print(STARTED, flush=True)
    numbers = env.from_collection(list(range(100)), Types.LONG())
    numbers.key_by(lambda number: number % 3).reduce(lambda one, other: one + other).print()
    env.execute("submitted")


if __name__ == "__main__":
    main()
