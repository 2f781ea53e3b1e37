"""AsyncDataStream: puts an AsyncFunction on a stream."""

from __future__ import annotations

import inspect
from typing import Any

from rekindle.base.time import Time, duration_to_millis
from rekindle.base.type_variables import R, T
from rekindle.contracts.declared_types import RecordType
from rekindle.contracts.functions.async_functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from rekindle.contracts.functions.async_retry_strategies import NO_RETRY_STRATEGY
from rekindle.contracts.functions.function_adapters import require
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.type_hints import state_type, yielded_type
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.transformations.one_input import AsyncWaitTransformation

__all__ = ["AsyncDataStream"]

_OutputMode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Put an AsyncFunction on a stream: many elements wait for their results at a time."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Emit results as they come, never across a watermark.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long an element may wait for its results; without limit if it is not above 0.
            capacity: How many elements of a subtask may wait at a time.
            output_type: The type of the results.
        """
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[R],
        capacity: int = 100,
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Emit results as they come, never across a watermark, and try again where there were none.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long an element may wait for its results, all attempts together.
            async_retry_strategy: Says which outcomes are tried again, how often, and after what pause.
            capacity: How many elements of a subtask may wait at a time.
            output_type: The type of the results.
        """
        descriptor = _descriptor(async_function, timeout, capacity, async_retry_strategy, _OutputMode.UNORDERED)
        return _transformed(data_stream, descriptor, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Emit results in the order of their elements.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long an element may wait for its results; without limit if it is not above 0.
            capacity: How many elements of a subtask may wait at a time.
            output_type: The type of the results.
        """
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[R],
        capacity: int = 100,
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Emit results in the order of their elements, and try again where there were none.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long an element may wait for its results, all attempts together.
            async_retry_strategy: Says which outcomes are tried again, how often, and after what pause.
            capacity: How many elements of a subtask may wait at a time.
            output_type: The type of the results.
        """
        descriptor = _descriptor(async_function, timeout, capacity, async_retry_strategy, _OutputMode.ORDERED)
        return _transformed(data_stream, descriptor, output_type)


def _descriptor(
    function: AsyncFunction[Any, Any],
    timeout: Time,
    capacity: int,
    strategy: AsyncRetryStrategy[Any],
    mode: AsyncFunctionDescriptor.OutputMode,
) -> AsyncFunctionDescriptor:
    """Check the settings, in PyFlink's words where it has some."""
    function = require(function, AsyncFunction, "AsyncDataStream")
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise InvalidProgramError(
            f"Method 'async_invoke' of class '{type(function)}' should be declared as 'async def'."
        )
    if strategy is None:
        raise InvalidProgramError("Async retry strategy should not be None.")
    timeout_ms = duration_to_millis(timeout, "timeout")
    if strategy is not NO_RETRY_STRATEGY and timeout_ms <= 0:
        raise ConfigurationError("Timeout should be configured when do async with retry.")
    if strategy.get_retry_predicate() is None:
        raise InvalidProgramError(f"Retry predicate of the async retry strategy '{type(strategy)}' is None.")
    if capacity < 1:
        raise ConfigurationError(f"the capacity of an asynchronous operator must be at least 1, got {capacity}")
    return AsyncFunctionDescriptor(function, Time.milliseconds(timeout_ms), capacity, strategy, mode)


def _transformed(
    stream: DataStream, descriptor: AsyncFunctionDescriptor, output_type: RecordType | None
) -> DataStream[Any]:
    transformation = AsyncWaitTransformation(descriptor, state_type(stream._type_info or stream._hint))
    hint = yielded_type(descriptor.async_function.async_invoke)
    return stream._transform("async wait operator", transformation, output_type, hint)
