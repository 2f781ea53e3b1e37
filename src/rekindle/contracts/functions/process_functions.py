"""Functions with a context: the element's timestamp, the clocks, timers.

Results are yielded (or returned as an iterable); ``yield output_tag, value`` sends to a side output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN, KEY, OUT, K_co
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.functions.results import Results
    from rekindle.contracts.time.time_domain import TimeDomain
    from rekindle.contracts.time.timer_service import TimerService

__all__ = ["KeyedProcessFunction", "ProcessFunction"]


class ProcessFunction(Function, Generic[IN, OUT]):
    """Process a stream's elements one by one, with access to time.

    Keyed state and timers need a key: use ``KeyedProcessFunction`` on a keyed stream for those.
    """

    class Context(YieldsSideOutputs, ABC):
        """Describe the element being processed; valid only during the call it is passed to."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that tells the time."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the element's timestamp; None if the stream has no timestamps."""

    @abstractmethod
    def process_element(self, value: IN, ctx: ProcessFunction.Context) -> Results[OUT]:
        """Process one element.

        Args:
            value: The element.
            ctx: Its timestamp and the time service; not to be kept.

        Returns:
            The results: a generator, another iterable, or None.
        """


class KeyedProcessFunction(Function, Generic[KEY, IN, OUT]):
    """Process a keyed stream's elements one by one, with keyed state and timers."""

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
    def process_element(self, value: IN, ctx: KeyedProcessFunction.Context[KEY]) -> Results[OUT]:
        """Process one element.

        Args:
            value: The element.
            ctx: Its key, its timestamp and the timer service; not to be kept.

        Returns:
            The results: a generator, another iterable, or None.
        """

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[KEY]) -> Results[OUT]:
        """React to a timer of the current key; does nothing by default.

        Args:
            timestamp: The time the timer was set for.
            ctx: Its key, its time domain and the timer service; not to be kept.

        Returns:
            The results: a generator, another iterable, or None.
        """
        return None
