"""What a request to end the process does to a job, settled from the configuration."""

from __future__ import annotations

from enum import Enum

from rekindle.config.configuration import Configuration
from rekindle.config.options import CheckpointingOptions, RekindleOptions
from rekindle.exceptions import ConfigurationError


class SignalAction(Enum):
    """Say how a job ends when its process is asked to; the value is how it is configured."""

    CANCEL = "cancel"
    """It is cancelled. What stays of its checkpoints is what stays of any job that is cancelled."""

    STOP_WITH_SAVEPOINT = "stop-with-savepoint"
    """It is stopped with a savepoint in the configured directory, and all its output is committed."""

    SUSPEND = "suspend"
    """It ends as if the driver had died: nothing is deleted, and another driver may go on with it."""


def settle_signal_action(
    configuration: Configuration, high_availability: bool, savepoint_directory: str | None
) -> SignalAction:
    """Read the setting; where there is none, a job that another driver can take over is left to that one.

    Raises:
        ConfigurationError: Savepoints are wanted, and have no directory.
    """
    option = RekindleOptions.SIGNAL_ACTION
    wanted = configuration.get(option)
    if wanted is None:
        return SignalAction.SUSPEND if high_availability else SignalAction.CANCEL
    action = SignalAction(wanted)
    if action is SignalAction.STOP_WITH_SAVEPOINT and savepoint_directory is None:
        raise ConfigurationError(
            f"{option.key} is {wanted!r}, which needs a directory for the savepoint: set "
            f"{CheckpointingOptions.SAVEPOINT_DIRECTORY.key}"
        )
    return action
