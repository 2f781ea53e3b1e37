"""What the user may set about checkpointing, checked once.

Reading these values from a configuration or from the program is done elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.exceptions import ConfigurationError


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Hold the settings the checkpoint coordinator works by.

    Attributes:
        interval_ms: Time between two periodic checkpoints; None when there are no periodic checkpoints
            (savepoints are possible all the same).
        mode_exactly_once: True for EXACTLY_ONCE, False for AT_LEAST_ONCE.
        timeout_ms: A checkpoint that takes this long is aborted.
        min_pause_ms: Least time between the end of one checkpoint and the trigger of the next.
        max_concurrent: Most checkpoints pending at once. A minimum pause makes it 1, whatever was given.
        tolerable_failures: Checkpoint failures in a row that do not fail the job.
        num_retained: Number of completed checkpoints kept.
        history_size: Number of ended checkpoints whose statistics are kept.
    """

    interval_ms: int | None
    mode_exactly_once: bool = True
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    num_retained: int = 1
    history_size: int = 10

    def __post_init__(self) -> None:
        if self.interval_ms is not None:
            _at_least("execution.checkpointing.interval", self.interval_ms, 1)
        _at_least("execution.checkpointing.timeout", self.timeout_ms, 1)
        _at_least("execution.checkpointing.min-pause", self.min_pause_ms, 0)
        _at_least("execution.checkpointing.max-concurrent-checkpoints", self.max_concurrent, 1)
        _at_least("execution.checkpointing.tolerable-failed-checkpoints", self.tolerable_failures, 0)
        _at_least("state.checkpoints.num-retained", self.num_retained, 1)
        _at_least("web.checkpoints.history", self.history_size, 0)
        if self.min_pause_ms > 0:
            object.__setattr__(self, "max_concurrent", 1)


def _at_least(key: str, value: int, least: int) -> None:
    if value < least:
        raise ConfigurationError(f"{key} is {value}, but must be at least {least}.")
