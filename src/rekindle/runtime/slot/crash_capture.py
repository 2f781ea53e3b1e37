"""What goes into a crash record: taken from an operator while nothing else runs in its slot.

Whatever cannot be taken is left out and noted: it is about the user's error, and must not lead to another.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from rekindle.checkpoint.crash_records import StateTaken
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.runtime.slot.crash_program import Call
from rekindle.runtime.slot.failed_record import UNKNOWN, Work
from rekindle.runtime.slot.short_text import cut
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.operator_state.stored import StoredList

_T = TypeVar("_T")


@dataclass(slots=True)
class KeyCopy:
    """Hold the state of one key as of some moment.

    Attributes:
        taken: As of when.
        blocks: Its state.
        timers: Its timers.
        left_out: What is missing, and why.
    """

    taken: StateTaken = StateTaken.NONE
    blocks: list[KeyGroupBlock] = field(default_factory=list)
    timers: list[KeyGroupBlock] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return about how many bytes it has."""
        return _size(self.blocks) + _size(self.timers)


class TooLargeError(Exception):
    """Something is larger than it may be."""


def copy_key(operator: Operator, key: Any, taken: StateTaken, limit: int) -> KeyCopy:
    """Copy the state and the timers of a key, as blocks that every backend can restore.

    Args:
        operator: The operator, open.
        key: The key.
        taken: What to note as the moment.
        limit: How many bytes it may have.
    """
    backend: KeyedStateBackend | None = getattr(operator, "backend", None)
    if backend is None:
        return KeyCopy()
    copy = KeyCopy(taken)
    copy.blocks = _attempt(copy.left_out, "the state of the key", list, lambda: _bounded(backend.blocks_of(key), limit))
    limit -= _size(copy.blocks)
    if isinstance(operator, KeyedOperator):
        own = chain.from_iterable(queue.blocks_of(key, backend.max_parallelism) for queue in operator.timer_queues())
        copy.timers = _attempt(copy.left_out, "the timers of the key", list, lambda: _bounded(own, limit))
    return copy


def fired_timer(operator: Operator, work: Work, left_out: list[str]) -> list[KeyGroupBlock]:
    """Encode the timer that an operator is at: it is no longer in its queue."""
    if not isinstance(operator, KeyedOperator) or work.due is None:
        return []
    due, groups = work.due, operator.backend.max_parallelism
    queues = [queue for queue in operator.timer_queues() if queue.name == work.queue]
    return _attempt(left_out, "the timer", list, lambda: [b for queue in queues for b in queue.blocks([due], groups)])


def copy_lists(operator: Operator, limit: int, left_out: list[str]) -> dict[str, StoredList]:
    """Copy operator state, broadcast state included, as far as it is there without asking the function for it."""
    if not isinstance(operator, UserFunctionOperator):
        return {}

    def taken() -> dict[str, StoredList]:
        lists = operator.operator_state.snapshot()
        if list_size(lists) > limit:
            raise TooLargeError
        return lists

    return _attempt(left_out, "the operator state", dict, taken)


def list_size(lists: dict[str, StoredList]) -> int:
    """Return how many bytes operator state has."""
    return sum(len(item) for stored in lists.values() for item in stored.items)


def pickled(what: Any, limit: int, name: str, left_out: list[str]) -> bytes:
    """Pickle something within a limit: by the names of classes, or else by value; empty if it is left out."""

    def within() -> bytes:
        target = _Bounded(limit)
        try:
            pickle.Pickler(target, protocol=5).dump(what)
        except TooLargeError:
            raise
        except Exception:  # such as a class that was defined in a function
            data = dumps(what)
            if len(data) > limit:
                raise TooLargeError from None
            return data
        return target.getvalue()

    return _attempt(left_out, name, bytes, within)


def call_of(work: Work) -> Call:
    """Return what is kept of the work of an operator."""
    has_key = work.key is not UNKNOWN
    value = None if work.value is UNKNOWN else work.value
    return Call(value, has_key, work.key if has_key else None, work.due, work.queue)


def _attempt(left_out: list[str], name: str, nothing: Callable[[], _T], take: Callable[[], _T]) -> _T:
    try:
        return take()
    except TooLargeError:
        left_out.append(f"{name}: larger than rekindle.crash-records.max-size allows")
    except BaseException as error:  # whatever user code raises when its objects are pickled
        left_out.append(cut(f"{name}: {type(error).__name__}: {_text(error)}", 500))
    return nothing()


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return "(it cannot be shown)"


def _bounded(blocks: Iterable[KeyGroupBlock], limit: int) -> list[KeyGroupBlock]:
    taken: list[KeyGroupBlock] = []
    for block in blocks:
        limit -= _size([block])
        if limit < 0:
            raise TooLargeError
        taken.append(block)
    return taken


def _size(blocks: Iterable[KeyGroupBlock]) -> int:
    return sum(len(block.data) + 200 for block in blocks)


class _Bounded(io.BytesIO):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, data: Any) -> int:
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            raise TooLargeError
        return super().write(data)
