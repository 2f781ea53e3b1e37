"""The numbering job as a driver of its own: numbering.py EVENTS DIRECTORY [key=value …].

With ``spark=no`` it runs in this process.
"""

from __future__ import annotations

import sys
import time

from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import ExternalizedCheckpointRetention, RuntimeContext, StreamExecutionEnvironment
from rekindle.testing import LocalEnvironment
from support.balances import numbering_job


def main() -> None:
    count, directory, *settings = sys.argv[1:]
    options = {"rekindle.progress": "log", "rekindle.epoch.max-records": "2000"}
    options |= dict(setting.split("=", 1) for setting in settings)
    pause = float(options.pop("pause", "0"))
    on_spark = options.pop("spark", "yes") == "yes"
    environment = StreamExecutionEnvironment.get_execution_environment if on_spark else LocalEnvironment
    env = environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    checkpoints = env.get_checkpoint_config()
    checkpoints.set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))

    def pause_before_the_first_failure(event: int, context: RuntimeContext) -> None:
        if context.get_attempt_number() == 0:
            time.sleep(pause)

    numbering_job(env, int(count), f"{directory}/out", pause_before_the_first_failure if pause else None)
    env.execute("numbering")


if __name__ == "__main__":
    main()
