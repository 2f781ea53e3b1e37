"""A job in a session that the program made itself, with logs at INFO: own_session.py DIRECTORY.

In its first attempt a slot is killed; in its second one it is cancelled in the middle of an epoch.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rekindle.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment

STARTED = "The session has started."


class Troubled(MapFunction):
    """Kill the slot, then hold up the epoch and say so."""

    def __init__(self, signal: str) -> None:
        self._signal = signal

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: Any) -> Any:
        if self._attempt == 0:
            os.kill(os.getpid(), 9)
        Path(self._signal).touch()
        time.sleep(0.1)
        return value


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    signal = os.path.join(sys.argv[1], "in the middle")
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    frame = spark.range(1_000)
    frame.count()
    print(STARTED, flush=True)
    env = StreamExecutionEnvironment.get_execution_environment(spark_session=spark)
    env.enable_checkpointing(500)
    env.set_parallelism(2)
    rows = env.from_data_frame(frame, uid="numbers")
    rows.key_by(lambda row: row.id).map(Troubled(signal)).key_by(lambda row: row.id % 3).map(str).print()
    client = env.execute_async("quiet")
    logging.getLogger("program").info("the job has started")
    while not os.path.exists(signal):
        time.sleep(0.05)
    client.cancel().result()
    spark.range(1_000).count()


if __name__ == "__main__":
    main()
