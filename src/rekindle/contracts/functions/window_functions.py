"""Functions that are evaluated when a window fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic

from rekindle.base.type_variables import IN, KEY, OUT, W2, T, W
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.functions.results import Results
    from rekindle.contracts.functions.runtime_context import KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Compute the results of one key's window from its elements."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yield or return the results of ``window`` for ``key``."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Compute the results of a window over a stream without a key."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yield or return the results of ``window``."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Compute the results of one key's window, with access to time and state."""

    class Context(YieldsSideOutputs, ABC, Generic[W2]):
        """Describe the window that fires; valid only during the call it is passed to."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the wall-clock time, in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return the store of state per key and window; delete what it holds in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return the store of state per key, shared by all its windows."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Results[OUT]:
        """Yield or return the results of the window for ``key``."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Delete the window's own state when it expires; does nothing by default."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Compute the results of a window over a stream without a key, with access to state."""

    class Context(YieldsSideOutputs, ABC, Generic[W2]):
        """Describe the window that fires; valid only during the call it is passed to."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return the store of state per window; delete what it holds in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return the store of state shared by all windows."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Results[OUT]:
        """Yield or return the results of the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Delete the window's own state when it expires; does nothing by default."""


class PassThroughWindowFunction(WindowFunction[T, T, KEY, W]):
    """Emit a keyed window's elements as they are."""

    def apply(self, key: KEY, window: W, inputs: Iterable[T]) -> Iterable[T]:
        """Yield ``inputs``."""
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[T, T, W]):
    """Emit a window's elements as they are."""

    def apply(self, window: W, inputs: Iterable[T]) -> Iterable[T]:
        """Yield ``inputs``."""
        yield from inputs
