"""The function by which the states of each key of an operator are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from rekindle.contracts.functions.basic_functions import Function

__all__ = ["KeyedStateReaderFunction"]


class KeyedStateReaderFunction(Function):
    """Read the states of each key of an operator.

    ``open`` asks for states by their descriptors, as the functions of the job do. ``read_key`` is called for each key
    that has an entry in one of them; the states' handles give what that key has. Each task has an instance of its own.
    """

    class Context(ABC):
        """Tell of the timers of the current key."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Return the timestamps of the key's timers in event time."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Return the timestamps of the key's timers in processing time."""

    @abstractmethod
    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterable[Any] | None:
        """Read what a key has.

        Args:
            key: The key.
            ctx: Its timers; not to be kept.

        Returns:
            The rows of the key, each a tuple, dict or Row: a generator, another iterable, or None.
        """
