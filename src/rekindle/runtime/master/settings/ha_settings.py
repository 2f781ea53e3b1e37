"""Where the log of a job is that outlives its driver, settled from the configuration."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from rekindle.checkpoint import paths
from rekindle.checkpoint.settings.checkpoint_storage import checked_directory
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.config.configuration import Configuration
from rekindle.config.options import HighAvailabilityOptions
from rekindle.exceptions import ConfigurationError

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class HighAvailabilitySettings:
    """Say where a job's log is: ``directory`` within ``files``."""

    files: CheckpointFiles
    directory: str


def settle_high_availability(
    configuration: Configuration, job_name: str, checkpoints_in_memory: bool
) -> HighAvailabilitySettings | None:
    """Read the settings of high availability; None where it is off.

    Args:
        configuration: The configuration of the job.
        job_name: The name of the job: under it the next driver finds it.
        checkpoints_in_memory: Whether the job takes checkpoints that would be gone with the driver.

    Raises:
        ConfigurationError: If a setting cannot work.
    """
    mode = HighAvailabilityOptions.HA_MODE
    if configuration.get(mode) == "NONE":
        return None
    storage = configuration.get(HighAvailabilityOptions.HA_STORAGE_PATH)
    if storage is None:
        raise ConfigurationError(
            f"{mode.key} is 'filesystem', which needs a directory: set {HighAvailabilityOptions.HA_STORAGE_PATH.key}"
        )
    if checkpoints_in_memory:
        raise ConfigurationError(
            f"{mode.key} is 'filesystem' (--restart-driver sets it), and checkpoints are kept in the driver's memory, "
            "which is gone with it: set execution.checkpointing.dir, so that the next driver finds them"
        )
    files = checkpoint_files(checked_directory(storage, HighAvailabilityOptions.HA_STORAGE_PATH.key))
    cluster = configuration.get(HighAvailabilityOptions.HA_CLUSTER_ID).strip("/")
    return HighAvailabilitySettings(files, paths.join(safe_name(cluster), safe_name(job_name)))


def safe_name(name: str) -> str:
    """Make a name fit for a directory; different names stay different."""
    safe = _UNSAFE.sub("_", name)[:_LONGEST_NAME]
    if safe == name and name.strip("."):
        return name
    return f"{safe}-{hashlib.blake2b(name.encode(), digest_size=6).hexdigest()}"
