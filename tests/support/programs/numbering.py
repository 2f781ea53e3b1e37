"""The numbering job as a driver of its own: numbering.py EVENTS DIRECTORY [key=value …].

With ``spark=no`` it runs in this process; with ``retain=no`` nothing is said of what becomes of its checkpoints. With
``fail=N`` event N fails for ever, and with ``hold=yes`` savepoints wait for a file named release.
"""

from __future__ import annotations

import os
import sys
import time

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import ExternalizedCheckpointRetention, RuntimeContext, StreamExecutionEnvironment
from rekindle.testing import LocalEnvironment
from support.balances import numbering_job


def hold_savepoints(until: str) -> None:
    """Let no savepoint be complete before there is a file."""
    create = LocalCheckpointFiles.create

    def held(files: LocalCheckpointFiles, path: str, data: bytes) -> None:
        if "/savepoint-" in f"{files.root}/{path}":
            print("the savepoint is held", flush=True)
            while not os.path.exists(until):
                time.sleep(0.02)
        create(files, path, data)

    LocalCheckpointFiles.create = held  # type: ignore[method-assign]


def main() -> None:
    count, directory, *settings = sys.argv[1:]
    options = {"rekindle.progress": "log", "rekindle.epoch.max-records": "2000"}
    options |= dict(setting.split("=", 1) for setting in settings)
    pause = float(options.pop("pause", "0"))
    retains = options.pop("retain", "yes") == "yes"
    on_spark = options.pop("spark", "yes") == "yes"
    environment = StreamExecutionEnvironment.get_execution_environment if on_spark else LocalEnvironment
    fails_at, holds = int(options.pop("fail", "0")), options.pop("hold", "no") == "yes"
    if holds:
        hold_savepoints(f"{directory}/release")
    env = environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(int(options.pop("interval", "100")))
    checkpoints = env.get_checkpoint_config()
    checkpoints.set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    if retains:
        checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    if "restart-strategy.type" not in options:
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))

    def pause_before_the_first_failure(event: int, context: RuntimeContext) -> None:
        if event == fails_at:
            raise ValueError("this event")
        if context.get_attempt_number() == 0:
            time.sleep(pause)

    numbering_job(env, int(count), f"{directory}/out", pause_before_the_first_failure if pause else None)
    env.execute("numbering")


if __name__ == "__main__":
    main()
