"""What a program says about restarts: which strategy, with which numbers.

These are plain values. The runtime decides by them whether and when a failed job is started again.
``RestartStrategies`` in ``restart_strategy`` makes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.exceptions import ConfigurationError

__all__ = [
    "ExponentialDelayRestartStrategyConfiguration",
    "FailureRateRestartStrategyConfiguration",
    "FallbackRestartStrategyConfiguration",
    "FixedDelayRestartStrategyConfiguration",
    "NoRestartStrategyConfiguration",
    "RestartStrategyConfiguration",
    "TimeAmount",
]

TimeAmount = Duration | Time | timedelta | int
"""How an amount of time may be given; an integer is milliseconds."""

UNLIMITED_ATTEMPTS = (1 << 31) - 1
"""The number of attempts that stands for no limit."""


class RestartStrategyConfiguration(ABC):
    """Describe when a failed job is restarted."""

    __slots__ = ()

    @abstractmethod
    def get_description(self) -> str:
        """Return a sentence for people."""

    def __str__(self) -> str:
        return self.get_description()


@dataclass(frozen=True, slots=True)
class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Never restart: the first failure fails the job."""

    def get_description(self) -> str:
        """Return a sentence for people."""
        return "Restart deactivated."


@dataclass(frozen=True, slots=True)
class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart as the configuration file says."""

    def get_description(self) -> str:
        """Return a sentence for people."""
        return "Cluster level default restart strategy"


@dataclass(frozen=True, slots=True, init=False)
class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart a number of times, each after the same delay.

    Attributes:
        restart_attempts: Maximum number of restarts.
        delay_ms: How long to wait before each.
    """

    restart_attempts: int
    delay_ms: int

    def __init__(self, restart_attempts: int, delay_between_attempts_interval: TimeAmount) -> None:
        _check(restart_attempts >= 0, "restart_attempts", restart_attempts, "it cannot be negative")
        _assign(self, "restart_attempts", restart_attempts)
        _assign(self, "delay_ms", _millis(delay_between_attempts_interval, "delay_between_attempts_interval"))

    def get_restart_attempts(self) -> int:
        """Return how many restarts there are at most."""
        return self.restart_attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return how long to wait before each restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        """Return a sentence for people."""
        return f"Restart with fixed delay ({self.delay_ms} ms). #{self.restart_attempts} restart attempts."


@dataclass(frozen=True, slots=True, init=False)
class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart unless there were too many failures in an interval.

    Attributes:
        max_failure_rate: How many failures within the interval are still followed by a restart.
        failure_interval_ms: The length of the interval.
        delay_ms: How long to wait before each restart.
    """

    max_failure_rate: int
    failure_interval_ms: int
    delay_ms: int

    def __init__(
        self,
        max_failure_rate: int,
        failure_interval: TimeAmount,
        delay_between_attempts_interval: TimeAmount,
    ) -> None:
        _check(max_failure_rate > 0, "max_failure_rate", max_failure_rate, "it must be at least 1")
        _assign(self, "max_failure_rate", max_failure_rate)
        _assign(self, "failure_interval_ms", _millis(failure_interval, "failure_interval"))
        _assign(self, "delay_ms", _millis(delay_between_attempts_interval, "delay_between_attempts_interval"))

    def get_max_failure_rate(self) -> int:
        """Return how many failures within the interval are still followed by a restart."""
        return self.max_failure_rate

    def get_failure_interval(self) -> timedelta:
        """Return the length of the interval in which failures are counted."""
        return timedelta(milliseconds=self.failure_interval_ms)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return how long to wait before each restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        """Return a sentence for people."""
        return (
            f"Failure rate restart with maximum of {self.max_failure_rate} failures within interval "
            f"{self.failure_interval_ms} ms and fixed delay {self.delay_ms} ms."
        )


@dataclass(frozen=True, slots=True, init=False)
class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart after a delay that grows with every failure, until the job ran well for a while.

    Attributes:
        initial_backoff_ms: The first delay.
        max_backoff_ms: The longest delay.
        backoff_multiplier: The factor from one delay to the next.
        reset_backoff_threshold_ms: How long the job must run well for the delay to be reset.
        jitter_factor: By what part of itself a delay is shifted at random, up or down.
        attempts_before_reset_backoff: Maximum number of restarts before the delay is reset.
    """

    initial_backoff_ms: int
    max_backoff_ms: int
    backoff_multiplier: float
    reset_backoff_threshold_ms: int
    jitter_factor: float
    attempts_before_reset_backoff: int

    def __init__(
        self,
        initial_backoff: TimeAmount,
        max_backoff: TimeAmount,
        backoff_multiplier: float,
        reset_backoff_threshold: TimeAmount,
        jitter_factor: float,
        attempts_before_reset_backoff: int = UNLIMITED_ATTEMPTS,
    ) -> None:
        initial_ms = _millis(initial_backoff, "initial_backoff")
        max_ms = _millis(max_backoff, "max_backoff")
        threshold_ms = _millis(reset_backoff_threshold, "reset_backoff_threshold")
        attempts = attempts_before_reset_backoff
        _check(initial_ms > 0, "initial_backoff", initial_backoff, "it must be at least 1 ms")
        _check(max_ms >= initial_ms, "max_backoff", max_backoff, "it cannot be below initial_backoff")
        _check(threshold_ms > 0, "reset_backoff_threshold", threshold_ms, "it must be at least 1 ms")
        _check(backoff_multiplier > 1, "backoff_multiplier", backoff_multiplier, "it must be above 1")
        _check(0 <= jitter_factor <= 1, "jitter_factor", jitter_factor, "it must be between 0 and 1")
        _check(attempts > 0, "attempts_before_reset_backoff", attempts, "it must be at least 1")
        _assign(self, "initial_backoff_ms", initial_ms)
        _assign(self, "max_backoff_ms", max_ms)
        _assign(self, "backoff_multiplier", backoff_multiplier)
        _assign(self, "reset_backoff_threshold_ms", threshold_ms)
        _assign(self, "jitter_factor", jitter_factor)
        _assign(self, "attempts_before_reset_backoff", attempts)

    def get_initial_backoff(self) -> timedelta:
        """Return the first delay."""
        return timedelta(milliseconds=self.initial_backoff_ms)

    def get_max_backoff(self) -> timedelta:
        """Return the longest delay."""
        return timedelta(milliseconds=self.max_backoff_ms)

    def get_backoff_multiplier(self) -> float:
        """Return what a delay is multiplied by to get the next one."""
        return self.backoff_multiplier

    def get_reset_backoff_threshold(self) -> timedelta:
        """Return how long the job must run well for the delay to start anew."""
        return timedelta(milliseconds=self.reset_backoff_threshold_ms)

    def get_jitter_factor(self) -> float:
        """Return by what part of itself a delay is shifted at random."""
        return self.jitter_factor

    def get_description(self) -> str:
        """Return a sentence for people."""
        return (
            f"Restart with exponential delay: starting at {self.initial_backoff_ms} ms, increasing by "
            f"{self.backoff_multiplier:f}, with maximum {self.max_backoff_ms} ms. Delay resets after "
            f"{self.reset_backoff_threshold_ms} ms with jitter {self.jitter_factor:f}"
        )


_assign = object.__setattr__


def _millis(amount: TimeAmount, parameter: str) -> int:
    millis = duration_to_millis(amount, parameter)
    _check(millis >= 0, parameter, amount, "it cannot be negative")
    return millis


def _check(holds: bool, parameter: str, value: object, rule: str) -> None:
    if not holds:
        raise ConfigurationError(f"Cannot use {value!r} as {parameter} of a restart strategy: {rule}.")
