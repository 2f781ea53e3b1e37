"""A source written in Python: a loop that hands elements to the system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Generic

from rekindle.base.type_variables import IN, OUT
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.rich_function import RichFunction

__all__ = ["ParallelSourceFunction", "RichParallelSourceFunction", "RichSourceFunction", "SourceFunction"]


class SourceFunction(Function, Generic[OUT]):
    """Emit elements from a loop of your own, for ``env.add_source``. There is one of it: its parallelism is 1.

    To survive failures without loss or duplicates, also implement ``CheckpointedFunction``: keep the
    position in operator state, and emit and advance it under ``ctx.get_checkpoint_lock()``.
    """

    class SourceContext(ABC, Generic[IN]):
        """Receives the elements and watermarks that a source emits."""

        @abstractmethod
        def collect(self, element: IN) -> None:
            """Emit ``element``, with a timestamp only if the stream's watermark strategy assigns one."""

        @abstractmethod
        def collect_with_timestamp(self, element: IN, timestamp: int) -> None:
            """Emit ``element`` with its event time, in milliseconds since the epoch."""

        @abstractmethod
        def emit_watermark(self, timestamp: int) -> None:
            """Declare that no element with a timestamp up to ``timestamp`` will follow."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Let event time advance downstream without this source until it emits again."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """Return the lock under which emitting and advancing the position are one step.

            Entering it may wait until there is room for more elements; inside, nothing waits. Do not sleep in it, and
            read nothing slow: no snapshot is taken meanwhile.
            """

        @abstractmethod
        def close(self) -> None:
            """End the emission; called by the system after ``run`` has returned."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext[OUT]) -> None:
        """Emit elements through ``ctx``; return when there are no more, or after ``cancel``."""

    @abstractmethod
    def cancel(self) -> None:
        """Make ``run`` return soon; called from another thread."""


class ParallelSourceFunction(SourceFunction[OUT]):
    """Emit elements in several subtasks at once: as many as the environment's parallelism, or as you set."""


class RichSourceFunction(RichFunction, SourceFunction[OUT]):
    """A SourceFunction that knows its runtime context."""


class RichParallelSourceFunction(RichFunction, ParallelSourceFunction[OUT]):
    """A ParallelSourceFunction that knows its runtime context: which subtask it is, of how many."""
