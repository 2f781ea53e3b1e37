"""Functions over a stream connected with a broadcast stream.

Every subtask sees every broadcast element and may store it in broadcast state; the data side reads that
state and cannot change it, so that all subtasks keep the same copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN, IN1, IN2, KEY, OUT, K, K_co, S, V
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.functions.results import Results
    from rekindle.contracts.state import BroadcastState, ReadOnlyBroadcastState
    from rekindle.contracts.state.state_descriptors import MapStateDescriptor, StateDescriptor
    from rekindle.contracts.time.time_domain import TimeDomain
    from rekindle.contracts.time.timer_service import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedStateFunction",
]


class KeyedStateFunction(ABC, Generic[KEY, IN]):
    """Visit the keyed state of every key, for ``apply_to_keyed_state``."""

    @abstractmethod
    def process(self, key: KEY, state: IN) -> None:
        """Read or change ``state``, which is the state of ``key`` during the call."""


class BaseBroadcastProcessFunction(Function):
    """Hold what both broadcast process functions share: their contexts."""

    class BaseContext(YieldsSideOutputs, ABC):
        """Describe the element being processed; valid only during the call it is passed to."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the timestamp of the element or firing timer; None if the stream has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the wall-clock time, in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

    class Context(BaseContext):
        """Give the broadcast side read and write access to broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
            """Return the broadcast state; its descriptor must have been passed to ``broadcast``."""

    class ReadOnlyContext(BaseContext):
        """Give the data side read access to broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
            """Return a view of the broadcast state that cannot be written."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Process a stream without a key together with a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """Give the broadcast side read and write access to broadcast state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """Give the data side read access to broadcast state."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Results[OUT]:
        """Process an element of the data side; yield or return the results."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Results[OUT]:
        """Process a broadcast element, the same way in every subtask; yield or return the results."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Process a keyed stream together with a broadcast stream, with keyed state and timers."""

    class Context(BaseBroadcastProcessFunction.Context, ABC, Generic[K_co]):
        """Give the broadcast side broadcast state to write, and every key's state to visit."""

        @abstractmethod
        def apply_to_keyed_state(
            self,
            state_descriptor: StateDescriptor[S],
            function: KeyedStateFunction[K_co, S] | Callable[[K_co, S], None],
        ) -> None:
            """Call ``function(key, state)`` for every key of this subtask that has the described state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC, Generic[K_co]):
        """Give the data side its key, timers, and read access to broadcast state."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that tells the time and sets timers."""

        @abstractmethod
        def get_current_key(self) -> K_co:
            """Return the key of the element."""

    class OnTimerContext(ReadOnlyContext[K_co], ABC):
        """Describe the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer followed."""

        @abstractmethod
        def get_current_key(self) -> K_co:
            """Return the key the timer was set for."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[KEY]) -> Results[OUT]:
        """Process an element of the keyed side; yield or return the results."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context[KEY]) -> Results[OUT]:
        """Process a broadcast element, the same way in every subtask; yield or return the results."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext[KEY]) -> Results[OUT]:
        """React to a timer of the current key, yielding or returning results; does nothing by default."""
        return None
