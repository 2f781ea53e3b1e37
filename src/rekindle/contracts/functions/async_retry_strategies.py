"""When an asynchronous request is tried again: never, at a fixed pace, or ever more slowly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from rekindle.base.type_variables import T
from rekindle.exceptions import ConfigurationError

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]


class AsyncRetryPredicate(ABC, Generic[T]):
    """Tell which outcomes of a request are to be tried again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[T]], bool] | None:
        """Return the condition on results that asks for another attempt; None if there is none."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the condition on exceptions that asks for another attempt; None if there is none."""


class AsyncRetryStrategy(ABC, Generic[T]):
    """Tell how often, and after what pause, a request is tried again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return True if the attempt with this number, counted from 1, may be followed by another."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the pause after the attempt with this number, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[T]:
        """Return what decides whether an outcome is tried again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Return the strategy that never tries again."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[T]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[T]:
        """Return the strategy that tries ``max_attempts`` times again, always after the same pause."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[T]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[T]:
        """Return the strategy whose pauses grow by ``multiplier``, up to ``max_retry_delay``."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[T], Generic[T]):
    """Try again when one of two given conditions holds."""

    def __init__(
        self,
        result_predicate: Callable[[list[T]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[T]], bool] | None:
        """Return the condition on results."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the condition on exceptions."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[T], Generic[T]):
    """Never try again."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1: there is no next attempt."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[T]:
        """Return a predicate without conditions."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[T], Generic[T]):
    """Try again up to ``max_attempts`` times, always after the same pause."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[T]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _require_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return True up to ``max_attempts``."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the fixed pause."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[T]:
        """Return the given conditions."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[T], Generic[T]):
    """Try again up to ``max_attempts`` times; each pause is the one before times ``multiplier``, capped.

    The pause depends on the attempt's number alone, so requests under way at a time do not disturb each
    other.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[T]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _require_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return True up to ``max_attempts``."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the pause after the attempt with this number."""
        delay = self._initial_delay
        for _ in range(current_attempts - 1):
            grown = int(min(delay * self._multiplier, self._max_retry_delay))
            if grown == delay:
                break
            delay = grown
        return delay

    def get_retry_predicate(self) -> AsyncRetryPredicate[T]:
        """Return the given conditions."""
        return self._predicate


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()
"""The one strategy that never tries again."""


def _require_positive(**arguments: float) -> None:
    for name, value in arguments.items():
        if value <= 0:
            raise ConfigurationError(f"{name} must be greater than zero, got {value!r}")
