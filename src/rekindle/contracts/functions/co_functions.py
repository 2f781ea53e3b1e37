"""Functions over two connected streams; one instance sees both, so its state is shared by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.time.time_domain import TimeDomain
    from rekindle.contracts.time.timer_service import TimerService

__all__ = ["CoFlatMapFunction", "CoMapFunction", "CoProcessFunction", "KeyedCoProcessFunction"]


class CoMapFunction(Function):
    """Turn every element of two streams into exactly one result."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return what an element of the first stream becomes."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return what an element of the second stream becomes."""


class CoFlatMapFunction(Function):
    """Turn every element of two streams into zero, one or more results."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Any:
        """Yield, or return as an iterable, what an element of the first stream becomes."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Any:
        """Yield, or return as an iterable, what an element of the second stream becomes."""


class CoProcessFunction(Function):
    """Process the elements of two streams one by one, with access to time."""

    class Context(YieldsSideOutputs, ABC):
        """Describe the element being processed; valid only during the call it is passed to."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that tells the time."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the element's timestamp; None if the stream has no timestamps."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Process an element of the first stream; yield or return the results."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Process an element of the second stream; yield or return the results."""


class KeyedCoProcessFunction(Function):
    """Process the elements of two keyed streams one by one, with keyed state and timers."""

    class Context(YieldsSideOutputs, ABC):
        """Describe the element being processed; valid only during the call it is passed to."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element or of the firing timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that tells the time and sets timers."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the timestamp of the element or firing timer; None if the stream has none."""

    class OnTimerContext(Context):
        """Describe the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer followed."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Process an element of the first stream; yield or return the results."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Process an element of the second stream; yield or return the results."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        """React to a timer of the current key, yielding or returning results; does nothing by default."""
        return None
