"""Functions that wait for something outside without holding up the stream, and when to try again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rekindle.contracts.functions.basic_functions import Function

if TYPE_CHECKING:
    from rekindle.base.time import Time

__all__ = ["AsyncFunction", "AsyncFunctionDescriptor", "AsyncRetryPredicate", "AsyncRetryStrategy"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Start an asynchronous request per element; many are under way at a time."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the results for ``value``; an exception fails the job unless it is retried."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return results in place of those that did not come in time; raises ``TimeoutError`` by default."""
        raise TimeoutError(f"Async function call has timed out for input: {value}")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Tell which outcomes of a request are to be tried again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the condition on results that asks for another attempt; None if there is none."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the condition on exceptions that asks for another attempt; None if there is none."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Tell how often, and after what pause, a request is tried again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return True if the attempt with this number, counted from 1, may be followed by another."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the pause after the attempt with this number, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return what decides whether an outcome is tried again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Return the strategy that never tries again."""
        from rekindle.contracts.functions.async_retry_strategies import NO_RETRY_STRATEGY

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Return the strategy that tries ``max_attempts`` times again, always after the same pause."""
        from rekindle.contracts.functions.async_retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Return the strategy whose pauses grow by ``multiplier``, up to ``max_retry_delay``."""
        from rekindle.contracts.functions.async_retry_strategies import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class AsyncFunctionDescriptor:
    """Hold everything that an asynchronous operator needs to know."""

    class OutputMode(Enum):
        """Choose the order of results."""

        ORDERED = 0
        """Emit results in the order of their elements."""

        UNORDERED = 1
        """Emit results as they come, never across a watermark."""

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: AsyncFunctionDescriptor.OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
