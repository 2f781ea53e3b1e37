"""A sink written in Python: a call per element."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

from rekindle.base.type_variables import IN
from rekindle.contracts.functions.basic_functions import Function

__all__ = ["SinkFunction"]


class SinkFunction(Function, Generic[IN]):
    """Write elements to a system of your own, for ``stream.add_sink``.

    An element may be written again after a failure. A sink that must not write twice holds back what it
    wrote since the last checkpoint, as ``CheckpointedFunction``, and commits it as ``CheckpointListener``.
    """

    class Context(ABC):
        """Describe the element being written; valid only during the call it is passed to."""

        @abstractmethod
        def timestamp(self) -> int | Any:
            """Return the element's timestamp; None if the stream has no timestamps."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the wall-clock time of the subtask, in milliseconds since the epoch."""

    @abstractmethod
    def invoke(self, value: IN, context: SinkFunction.Context) -> None:
        """Write one element.

        Args:
            value: The element.
            context: Its timestamp and the current times; not to be kept.
        """

    def write_watermark(self, watermark: int) -> None:
        """Called when event time has reached a watermark; nothing needs to be done."""

    def finish(self) -> None:
        """Write what is still held back: all input has ended. ``close`` is called after failures, too."""
