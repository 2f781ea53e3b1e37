"""A source written in Python: a loop that hands elements to the system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from rekindle.datastream.basic_functions import Function

__all__ = ["SourceFunction"]


class SourceFunction(Function):
    """Emit elements from a loop of your own, for ``env.add_source``.

    To survive failures without loss or duplicates, also implement ``CheckpointedFunction``: keep the
    position in operator state, and emit and advance it under ``ctx.get_checkpoint_lock()``.
    """

    class SourceContext(ABC):
        """Take the elements and watermarks that a source emits."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit ``element``, with a timestamp only if the stream's watermark strategy assigns one."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit ``element`` with its event time, in milliseconds since the epoch."""

        @abstractmethod
        def emit_watermark(self, timestamp: int) -> None:
            """Declare that no element with a timestamp up to ``timestamp`` will follow."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Let watermarks downstream go on without this source until it emits again."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """Return the lock under which emitting and advancing the position are one step."""

        @abstractmethod
        def close(self) -> None:
            """End the emission; called by the system after ``run`` has returned."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Emit elements through ``ctx``; return when there are no more, or after ``cancel``."""

    @abstractmethod
    def cancel(self) -> None:
        """Make ``run`` return soon; called from another thread."""
