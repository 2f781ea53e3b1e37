"""When a file sink closes the part file it writes and begins another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.exceptions import ConfigurationError

__all__ = ["DefaultRollingPolicy", "OnCheckpointRollingPolicy", "RollingPolicy", "positive_millis"]


class RollingPolicy(ABC):
    """Decide when a part file is closed and another begun.

    Whatever the policy, every part file also ends at each checkpoint barrier: a file never spans two
    checkpoints. A policy only makes files smaller than that.
    """

    @abstractmethod
    def should_roll_on_event(self, size: int) -> bool:
        """Decide after a write.

        Args:
            size: Size of the part file in bytes.
        """

    @abstractmethod
    def should_roll_on_processing_time(self, created: int, last_written: int, now: int) -> bool:
        """Decide as time passes.

        Args:
            created: When the part file was begun, in milliseconds since the epoch.
            last_written: When it was written to last.
            now: The current processing time.
        """

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * 1024 * 1024,
        rollover_interval: Duration | Time | timedelta | int = 60 * 1000,
        inactivity_interval: Duration | Time | timedelta | int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Roll by size, age and inactivity, and at every checkpoint.

        Args:
            part_size: Size in bytes at which a part file is closed; checked after each chunk of records.
            rollover_interval: How long a part file stays open, in milliseconds or as a duration.
            inactivity_interval: How long a part file stays open without being written to.

        Raises:
            ConfigurationError: One of them is not greater than zero.
        """
        if part_size <= 0:
            raise ConfigurationError(f"part_size must be greater than zero, got {part_size!r}")
        return DefaultRollingPolicy(
            part_size,
            positive_millis(rollover_interval, "rollover_interval"),
            positive_millis(inactivity_interval, "inactivity_interval"),
        )

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Roll at every checkpoint, and only there."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """Roll by size, age and inactivity, and at every checkpoint.

    Attributes:
        part_size: Size in bytes at which a part file is closed.
        rollover_interval: How long a part file stays open, in milliseconds.
        inactivity_interval: How long a part file stays open without being written to, in milliseconds.
    """

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def should_roll_on_event(self, size: int) -> bool:
        """Roll a file that has reached the part size."""
        return size >= self.part_size

    def should_roll_on_processing_time(self, created: int, last_written: int, now: int) -> bool:
        """Roll a file that is too old, or was not written to for too long."""
        return now - created >= self.rollover_interval or now - last_written >= self.inactivity_interval


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """Roll at every checkpoint, and only there."""

    def should_roll_on_event(self, size: int) -> bool:
        """Never roll by size."""
        return False

    def should_roll_on_processing_time(self, created: int, last_written: int, now: int) -> bool:
        """Never roll by time."""
        return False


def positive_millis(amount: Duration | Time | timedelta | int, parameter: str) -> int:
    """Read an interval in milliseconds that has to be greater than zero."""
    millis = duration_to_millis(amount, parameter)
    if millis <= 0:
        raise ConfigurationError(f"{parameter} must be greater than zero, got {amount!r}")
    return millis
