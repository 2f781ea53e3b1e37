"""The job with every connector as a driver of its own: every_connector.py DIRECTORY [key=value …]."""

from __future__ import annotations

import sys
from pathlib import Path

from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import ExternalizedCheckpointRetention, StreamExecutionEnvironment
from support.every_connector import build


def main() -> None:
    directory, *settings = sys.argv[1:]
    options = {"rekindle.progress": "log", "rekindle.epoch.max-records": "200"}
    options |= dict(setting.split("=", 1) for setting in settings)
    parallelism = int(options.pop("parallelism", "2"))
    pause = float(options.pop("pause", "0"))
    raises = options.pop("raises", "no") == "yes"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(parallelism)
    env.enable_checkpointing(100)
    checkpoints = env.get_checkpoint_config()
    checkpoints.set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))
    with build(env, Path(directory), pause, raises).execute_and_collect("every connector") as collected:
        for line in collected:
            print(f"collected> {line}", flush=True)  # whole lines: slots and logs go to the same file


if __name__ == "__main__":
    main()
