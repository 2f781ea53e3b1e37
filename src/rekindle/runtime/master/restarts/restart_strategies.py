"""Restart strategies: whether and when a failed job starts again.

Pure decisions: time is passed in, randomness is handed over at construction. Waiting and restarting are done
by the job master. The counting is Flink's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rekindle.config.configuration import Configuration
from rekindle.config.options import RestartStrategyOptions as Options
from rekindle.config.restart_strategy_configuration import (
    UNLIMITED_ATTEMPTS,
    ExponentialDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FallbackRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
    NoRestartStrategyConfiguration,
    RestartStrategyConfiguration,
)
from rekindle.exceptions import ConfigurationError

_LONGEST_MS = 2**62


@dataclass(frozen=True, slots=True)
class Restart:
    """Decide to restart after a delay."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Decide to let the job fail; the reason is for the user."""

    reason: str


RestartDecision: TypeAlias = Restart | GiveUp


class RestartStrategy(Protocol):
    """Decide what follows a failure of the job."""

    def on_failure(self, now: int) -> RestartDecision:
        """Count a failure at time ``now`` (milliseconds) and decide."""
        ...

    def describe(self) -> str:
        """Return the strategy and its settings, for people."""
        ...


class NoRestart:
    """Never restart.

    Args:
        why: Who has said so, or what to do for another strategy.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def on_failure(self, now: int) -> RestartDecision:
        """Give up."""
        return GiveUp(f"the restart strategy is none{self._why}")

    def describe(self) -> str:
        """Return the strategy and its settings, for people."""
        return "none"


class FixedDelayRestart:
    """Restart a number of times, each after the same delay.

    Args:
        attempts: Number of restarts in the life of the job; None for no limit.
        delay_ms: Time between failure and restart.
    """

    def __init__(self, attempts: int | None, delay_ms: int) -> None:
        if attempts is not None:
            _at_least("restart-strategy.fixed-delay.attempts", attempts, 0)
        _at_least("restart-strategy.fixed-delay.delay", delay_ms, 0)
        self._attempts = attempts
        self._delay_ms = delay_ms
        self._failures = 0

    def on_failure(self, now: int) -> RestartDecision:
        """Restart as long as attempts are left."""
        self._failures += 1
        if self._attempts is None or self._failures <= self._attempts:
            return Restart(self._delay_ms)
        return GiveUp(f"all {self._attempts} restart attempts are used up (restart-strategy.fixed-delay.attempts)")

    def describe(self) -> str:
        """Return the strategy and its settings, for people."""
        attempts = "without limit" if self._attempts is None else f"{self._attempts} attempts"
        return f"fixed-delay ({attempts}, delay {self._delay_ms} ms)"


class FailureRateRestart:
    """Restart as long as failures are rare enough.

    Args:
        max_failures: Failures within the interval that are still answered by a restart.
        interval_ms: The interval in which they are counted.
        delay_ms: Time between failure and restart.
    """

    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        _at_least("restart-strategy.failure-rate.max-failures-per-interval", max_failures, 1)
        _at_least("restart-strategy.failure-rate.failure-rate-interval", interval_ms, 1)
        _at_least("restart-strategy.failure-rate.delay", delay_ms, 0)
        self._max_failures = max_failures
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms
        self._failures: deque[int] = deque(maxlen=max_failures + 1)

    def on_failure(self, now: int) -> RestartDecision:
        """Restart unless more failures than allowed lie within the interval that ends now."""
        self._failures.append(now)
        too_many = len(self._failures) > self._max_failures
        if too_many and now - self._failures[0] <= self._interval_ms:
            return GiveUp(
                f"{len(self._failures)} failures within {self._interval_ms} ms are more than "
                f"{self._max_failures} (restart-strategy.failure-rate.max-failures-per-interval)"
            )
        return Restart(self._delay_ms)

    def describe(self) -> str:
        """Return the strategy and its settings, for people."""
        return (
            f"failure-rate (at most {self._max_failures} failures in {self._interval_ms} ms, delay {self._delay_ms} ms)"
        )


class ExponentialDelayRestart:
    """Restart after delays that grow from failure to failure, until the job has run well for a while.

    A failure before the announced restart is due belongs to that restart: it neither counts nor delays it.

    Args:
        initial_ms: The first delay, and the shortest.
        max_ms: The longest delay.
        multiplier: What the delay is multiplied by after every failure.
        reset_threshold_ms: Time without failure, counted from the last restart, after which the delay is the
            first one again.
        jitter: Share of the delay that is added or taken away at random.
        random: Returns a number in [0, 1).
        attempts: Restarts before the next reset; None for no limit.
    """

    def __init__(
        self,
        initial_ms: int,
        max_ms: int,
        multiplier: float,
        reset_threshold_ms: int,
        jitter: float,
        random: Callable[[], float],
        attempts: int | None = None,
    ) -> None:
        prefix = "restart-strategy.exponential-delay"
        _at_least(f"{prefix}.initial-backoff", initial_ms, 1)
        _at_least(f"{prefix}.reset-backoff-threshold", reset_threshold_ms, 1)
        if max_ms < initial_ms:
            raise ConfigurationError(
                f"{prefix}.max-backoff is {max_ms} ms, less than {prefix}.initial-backoff, {initial_ms} ms."
            )
        if not multiplier > 1:
            raise ConfigurationError(f"{prefix}.backoff-multiplier is {multiplier}, but must be above 1.")
        if not 0 <= jitter <= 1:
            raise ConfigurationError(f"{prefix}.jitter-factor is {jitter}, but must be from 0 to 1.")
        if attempts is not None:
            _at_least(f"{prefix}.attempts-before-reset-backoff", attempts, 1)
        self._initial_ms = initial_ms
        self._max_ms = max_ms
        self._multiplier = multiplier
        self._reset_threshold_ms = reset_threshold_ms
        self._jitter = jitter
        self._random = random
        self._attempts = attempts
        self._restarts = 0
        self._next_restart: int | None = None

    def on_failure(self, now: int) -> RestartDecision:
        """Restart after the delay of this failure, or of the restart that is waited for already."""
        if self._next_restart is None or now > self._next_restart:
            if self._next_restart is not None and now - self._next_restart >= self._reset_threshold_ms:
                self._restarts = 0
            self._next_restart = now + self._delay_ms()
            self._restarts += 1
        if self._attempts is not None and self._restarts > self._attempts:
            return GiveUp(
                f"all {self._attempts} restart attempts are used up "
                "(restart-strategy.exponential-delay.attempts-before-reset-backoff)"
            )
        return Restart(self._next_restart - now)

    def describe(self) -> str:
        """Return the strategy and its settings, for people."""
        attempts = "without limit" if self._attempts is None else f"{self._attempts} attempts before reset"
        return (
            f"exponential-delay ({attempts}, delay {self._initial_ms} to {self._max_ms} ms, "
            f"multiplier {self._multiplier}, jitter {self._jitter}, "
            f"reset after {self._reset_threshold_ms} ms)"
        )

    def _delay_ms(self) -> int:
        try:
            delay = min(int(self._initial_ms * self._multiplier**self._restarts), _LONGEST_MS)
        except OverflowError:
            delay = _LONGEST_MS
        spread = int(delay * self._jitter)
        delay += int(self._random() * (2 * spread + 1)) - spread
        return max(self._initial_ms, min(delay, self._max_ms))


def restart_strategy_for(
    program: RestartStrategyConfiguration | None,
    configuration: Configuration,
    checkpointing: bool,
    random: Callable[[], float],
    batch: bool = False,
) -> RestartStrategy:
    """Return the restart strategy of a job.

    What the program says wins; if it says nothing, or to fall back, the configuration decides; if that says
    nothing either, a job with checkpoints restarts with delays that grow, and one without never does.

    Args:
        program: What the program set, None for nothing.
        configuration: The configuration of the job.
        checkpointing: Whether the job takes periodic checkpoints.
        random: Returns a number in [0, 1), for the jitter of exponential delays.
        batch: Whether the job is a batch, which has no periodic checkpoints.

    Raises:
        ConfigurationError: If a setting cannot work.
    """
    match program:
        case None | FallbackRestartStrategyConfiguration():
            return _configured(configuration, checkpointing, random, batch)
        case NoRestartStrategyConfiguration():
            return NoRestart(", as the program has set it")
        case FixedDelayRestartStrategyConfiguration():
            return FixedDelayRestart(_limit(program.restart_attempts), program.delay_ms)
        case FailureRateRestartStrategyConfiguration():
            return FailureRateRestart(program.max_failure_rate, program.failure_interval_ms, program.delay_ms)
        case ExponentialDelayRestartStrategyConfiguration():
            return ExponentialDelayRestart(
                initial_ms=program.initial_backoff_ms,
                max_ms=program.max_backoff_ms,
                multiplier=program.backoff_multiplier,
                reset_threshold_ms=program.reset_backoff_threshold_ms,
                jitter=program.jitter_factor,
                random=random,
                attempts=_limit(program.attempts_before_reset_backoff),
            )
        case _:
            raise ConfigurationError(
                f"{type(program).__name__} is not a restart strategy that Rekindle knows; make one with "
                "RestartStrategies."
            )


def driver_restarts(random: Callable[[], float]) -> RestartStrategy:
    """Return how often, and when, a driver or a cluster that died is started anew.

    One that has run for ten minutes was worth it: the count begins anew. Ten that have not are enough.

    Args:
        random: Returns a number in [0, 1), for the jitter of the delays.
    """
    return ExponentialDelayRestart(
        initial_ms=1_000,
        max_ms=60_000,
        multiplier=2.0,
        reset_threshold_ms=600_000,
        jitter=0.1,
        random=random,
        attempts=10,
    )


def _configured(
    configuration: Configuration, checkpointing: bool, random: Callable[[], float], batch: bool
) -> RestartStrategy:
    key = Options.RESTART_STRATEGY.key_in(configuration)
    match configuration.get(Options.RESTART_STRATEGY) or ("exponential-delay" if checkpointing else "none"):
        case "none" if key is not None:
            return NoRestart(f", as {key} says")
        case "none":
            ways = Options.RESTART_STRATEGY.key + ("" if batch else ", or enable checkpointing,")
            return NoRestart(f"; set {ways} if the job is to restart after a failure")
        case "fixed-delay":
            return FixedDelayRestart(
                _limit(configuration.get(Options.FIXED_DELAY_ATTEMPTS)),
                configuration.get(Options.FIXED_DELAY_DELAY),
            )
        case "failure-rate":
            return FailureRateRestart(
                configuration.get(Options.FAILURE_RATE_MAX_FAILURES),
                configuration.get(Options.FAILURE_RATE_INTERVAL),
                configuration.get(Options.FAILURE_RATE_DELAY),
            )
        case "exponential-delay":
            return ExponentialDelayRestart(
                initial_ms=configuration.get(Options.EXPONENTIAL_DELAY_INITIAL_BACKOFF),
                max_ms=configuration.get(Options.EXPONENTIAL_DELAY_MAX_BACKOFF),
                multiplier=configuration.get(Options.EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER),
                reset_threshold_ms=configuration.get(Options.EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD),
                jitter=configuration.get(Options.EXPONENTIAL_DELAY_JITTER_FACTOR),
                random=random,
                attempts=_limit(configuration.get(Options.EXPONENTIAL_DELAY_ATTEMPTS)),
            )
        case other:
            raise ConfigurationError(f"{Options.RESTART_STRATEGY.key} is {other!r}, which is not a restart strategy.")


def _limit(attempts: int) -> int | None:
    return None if attempts >= UNLIMITED_ATTEMPTS else attempts


def _at_least(key: str, value: int, least: int) -> None:
    if value < least:
        raise ConfigurationError(f"{key} is {value}, but must be at least {least}.")
