"""The numbering job as a driver with high availability: ha_numbering.py EVENTS DIRECTORY [key=value …]."""

from __future__ import annotations

import sys
import time

from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import RuntimeContext, StreamExecutionEnvironment
from rekindle.exceptions import JobFencedError
from support.balances import numbering_job


def main() -> None:
    count, directory, *settings = sys.argv[1:]
    options = {
        "rekindle.progress": "log",
        "rekindle.epoch.max-records": "2000",
        "high-availability.type": "filesystem",
        "high-availability.storageDir": f"{directory}/ha",
        "heartbeat.interval": "200 ms",
    }
    options |= dict(setting.split("=", 1) for setting in settings)
    pause = float(options.pop("pause", "0"))
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))

    def slowly(event: int, context: RuntimeContext) -> None:
        time.sleep(pause)

    numbering_job(env, int(count), f"{directory}/out", slowly if pause else None)
    try:
        env.execute("numbering")
    except JobFencedError as fence:
        print(f"fenced: {fence}", flush=True)
        sys.exit(3)


if __name__ == "__main__":
    main()
