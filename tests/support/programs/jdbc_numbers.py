"""Numbers into a table, each once: jdbc_numbers.py URL USER PASSWORD COUNT DIRECTORY [key=value …]."""

from __future__ import annotations

import sys

from rekindle.common import Configuration, RestartStrategies, Row, Types, WatermarkStrategy
from rekindle.datastream import ExternalizedCheckpointRetention, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink

ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])


def main() -> None:
    url, user, password, count, directory, *settings = sys.argv[1:]
    options = {"rekindle.progress": "log"} | dict(setting.split("=", 1) for setting in settings)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(200)
    checkpoints = env.get_checkpoint_config()
    checkpoints.set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))
    numbers = DataGeneratorSource(
        lambda number: Row(f"n{number}", number), int(count), ROW, RateLimiterStrategy.per_second(1000)
    )
    connection = JdbcConnectionOptions(url, None, user, password)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
    spread = stream.key_by(lambda row: row.name).map(lambda row: row, ROW)
    spread.sink_to(JdbcSink.exactly_once_sink("INSERT INTO t VALUES (?, ?)", ROW, connection)).uid("table")
    env.execute("numbers")


if __name__ == "__main__":
    main()
