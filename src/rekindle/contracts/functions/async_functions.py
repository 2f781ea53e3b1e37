"""Functions that wait for something outside without holding up the stream."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN, T
from rekindle.contracts.functions.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from rekindle.contracts.functions.basic_functions import Function

if TYPE_CHECKING:
    from rekindle.base.time import Time

__all__ = ["AsyncFunction", "AsyncFunctionDescriptor", "AsyncRetryPredicate", "AsyncRetryStrategy"]


class AsyncFunction(Function, Generic[IN, T]):
    """Start an asynchronous request per element; many are under way at a time."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[T]:
        """Return the results for ``value``; an exception fails the job unless it is retried."""

    def timeout(self, value: IN) -> list[T]:
        """Return results in place of those that did not come in time; raises ``TimeoutError`` by default."""
        raise TimeoutError(f"Async function call has timed out for input: {value}")


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
