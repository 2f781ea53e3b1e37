"""State machines of attempts, for tests that are everything around them."""

from __future__ import annotations

from typing import Any

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine, AttemptSettings
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import Stopping

JOB = "0123456789abcdef0123456789abcdef"


def machine(
    options: CheckpointOptions | None = None,
    slots: int = 1,
    savepoints: Savepoints | None = None,
    stopping: Stopping | None = None,
    coordinator: CheckpointCoordinator | None = None,
    requested: RequestedCheckpoints | None = None,
    **settings: Any,
) -> AttemptMachine:
    """Make the machine of a first attempt, or of the one that a coordinator is for."""
    options = options or CheckpointOptions(interval_ms=None)
    coordinator = coordinator or CheckpointCoordinator(options, frozenset(range(slots)), 0, 1, 0)
    return AttemptMachine(
        AttemptSettings(coordinator.attempt, slots, num_retained=options.num_retained, **settings),
        coordinator,
        savepoints or Savepoints(JOB),
        stopping or Stopping(),
        requested or RequestedCheckpoints(),
    )
