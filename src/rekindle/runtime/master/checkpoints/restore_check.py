"""Finds out early that there is nothing to start from."""

from __future__ import annotations

from rekindle.checkpoint.restoring import check_restore_path
from rekindle.config.configuration import Configuration
from rekindle.config.options import HighAvailabilityOptions, StateRecoveryOptions


def check_restore_setting(configuration: Configuration) -> None:
    """Look whether there is a checkpoint where the configuration says that the job starts from one.

    Spark takes seconds to start: this is done before. With high availability it may not matter, because a job that has
    completed checkpoints of its own goes on from them.

    Raises:
        CheckpointNotFoundError: There is none.
    """
    path = configuration.get(StateRecoveryOptions.SAVEPOINT_PATH)
    if path is not None and configuration.get(HighAvailabilityOptions.HA_MODE) == "NONE":
        check_restore_path(path)
