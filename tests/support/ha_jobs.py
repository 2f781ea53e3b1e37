"""The numbering job with high availability, in any process, and what is asked of its log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import RestartStrategies
from rekindle.datastream import RuntimeContext, StreamExecutionEnvironment
from rekindle.ha.entry import LogEntry
from rekindle.ha.log import JobLog
from support.balances import environment_on, numbering_job

NAME = "numbering"


def ha_environment(
    directory: str, options: dict[str, str] | None = None, cluster: Any = None
) -> StreamExecutionEnvironment:
    """Make an environment whose checkpoints and log are below one directory; an option without a value is not set."""
    settings = {
        "rekindle.progress": "log",
        "rekindle.epoch.max-records": "2000",
        "high-availability.type": "filesystem",
        "high-availability.storageDir": f"{directory}/ha",
        "heartbeat.interval": "200 ms",
        **(options or {}),
    }
    settings = {key: value for key, value in settings.items() if value}
    env = environment_on(cluster, settings)
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 0))
    return env


def ha_program(
    count: int, directory: str, options: dict[str, str] | None = None, cluster: Any = None, pause: float = 0.0
) -> StreamExecutionEnvironment:
    """Write the job down; checkpoints, output and log are below one directory."""
    env = ha_environment(directory, options, cluster)

    def slowly(event: int, context: RuntimeContext) -> None:
        time.sleep(pause)

    numbering_job(env, count, f"{directory}/out", slowly if pause else None)
    return env


def latest_entry(directory: Path) -> LogEntry:
    """Read the highest entry of the job's log."""
    entry = JobLog(LocalCheckpointFiles(str(directory / "ha")), f"default/{NAME}").latest()
    assert entry is not None
    return entry
