"""What a window assigner is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN, W2, W

if TYPE_CHECKING:
    from rekindle.contracts.functions.runtime_context import RuntimeContext
    from rekindle.contracts.windowing.trigger import Trigger
    from rekindle.types.type_serializer import TypeSerializer

__all__ = ["MergingWindowAssigner", "SessionWindowTimeGapExtractor", "WindowAssigner"]


class WindowAssigner(ABC, Generic[IN, W]):
    """Say which windows an element belongs to."""

    class WindowAssignerContext(ABC):
        """Give what an assigner may ask for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall-clock time, in milliseconds since the epoch."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the runtime context; its state is that of the element's key."""

    @abstractmethod
    def assign_windows(
        self, element: IN, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of an element.

        Args:
            element: The element.
            timestamp: Its timestamp; -2^63 if it has none.
            context: Gives the processing time.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[IN, W]:
        """Return the trigger of these windows where the program gives none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return the serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether elements are assigned by their timestamps."""


class MergingWindowAssigner(WindowAssigner[IN, W]):
    """Assign elements to windows that may merge, such as sessions."""

    class MergeCallback(ABC, Generic[W2]):
        """Receive which windows merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Note that windows become one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Say which windows are to be merged, by calling the callback for each merge."""


class SessionWindowTimeGapExtractor(ABC):
    """Take the gap of a session out of an element."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap after this element, in milliseconds."""
