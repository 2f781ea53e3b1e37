"""Functions over two connected streams; one instance sees both, so its state is shared by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN1, IN2, KEY, OUT, K_co
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.functions.results import Results
    from rekindle.contracts.time.time_domain import TimeDomain
    from rekindle.contracts.time.timer_service import TimerService

__all__ = ["CoFlatMapFunction", "CoMapFunction", "CoProcessFunction", "KeyedCoProcessFunction"]


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every element of two streams into exactly one result."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """Return what an element of the first stream becomes."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """Return what an element of the second stream becomes."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every element of two streams into zero, one or more results."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Yield, or return as an iterable, what an element of the first stream becomes."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Yield, or return as an iterable, what an element of the second stream becomes."""


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
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
    def process_element1(self, value: IN1, ctx: CoProcessFunction.Context) -> Results[OUT]:
        """Process an element of the first stream; yield or return the results."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: CoProcessFunction.Context) -> Results[OUT]:
        """Process an element of the second stream; yield or return the results."""


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """Process the elements of two keyed streams one by one, with keyed state and timers."""

    class Context(YieldsSideOutputs, ABC, Generic[K_co]):
        """Describe the element being processed; valid only during the call it is passed to."""

        @abstractmethod
        def get_current_key(self) -> K_co:
            """Return the key of the element or of the firing timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that tells the time and sets timers."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the timestamp of the element or firing timer; None if the stream has none."""

    class OnTimerContext(Context[K_co]):
        """Describe the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer followed."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: KeyedCoProcessFunction.Context[KEY]) -> Results[OUT]:
        """Process an element of the first stream; yield or return the results."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: KeyedCoProcessFunction.Context[KEY]) -> Results[OUT]:
        """Process an element of the second stream; yield or return the results."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext[KEY]) -> Results[OUT]:
        """React to a timer of the current key, yielding or returning results; does nothing by default."""
        return None
