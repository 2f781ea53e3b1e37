"""Which record, or which timer, an operator was at when user code raised.

After a failure the loop that was at work is still there, in the traceback, and says which of its variables to look at
(:mod:`rekindle.runtime.at_work`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rekindle.contracts.operators.stream_record import StreamRecord
from rekindle.runtime.at_work import Loop, declared_loop
from rekindle.runtime.slot.short_text import short_repr
from rekindle.state.keyed_backend import NO_KEY

_REMAINING: type[Iterator[Any]] = type(iter([]))
_SHOWN = 200
_COMPARED = 10_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
UNKNOWN: Any = object()
"""Stands for a record or key that there is none of."""


@dataclass(frozen=True, slots=True)
class Work:
    """Hold what was at work, as the loop had it.

    Attributes:
        value: The record; UNKNOWN where it was a timer.
        key: The key; UNKNOWN where there is none.
        timestamp: That of the record.
        due: The timer that had fired, as its queue keeps it.
        queue: The name of that queue.
        keyed_edge: The edge whose key selector was called; None: an operator was at work.
        in_operator: Whether the loop is an operator's, whose record came as it is here.
    """

    value: Any
    key: Any
    timestamp: int | None = None
    due: tuple[Any, int] | None = None
    queue: str | None = None
    keyed_edge: int | None = None
    in_operator: bool = False


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """Tell one record, or timer, from others.

    Attributes:
        text: What people are told: ``record 'a' of key 3``.
        digest: The same for the same record after a restart, also where people may not see it.
        work: The record or timer itself.
    """

    text: str
    digest: str
    work: Work = field(compare=False, repr=False)


def failed_record(error: BaseException) -> FailedRecord | None:
    """Find out what was at work when an error was raised; None if that was no record and no timer, or nobody knows."""
    try:
        for loop, variables in _loops(error):
            found = _at_work(loop, variables)
            if found is not None:
                return found
    except BaseException:  # whatever user code does to who looks at its objects: its own error is the one to tell of
        return None
    return None


def _loops(error: BaseException) -> Iterator[tuple[Loop, Mapping[str, Any]]]:
    """Return the loops that were at work, from the outside in, with their variables."""
    trace = error.__traceback__
    while trace is not None:
        loop = declared_loop(trace.tb_frame.f_code)
        if loop is not None:
            yield loop, trace.tb_frame.f_locals
        trace = trace.tb_next


def _at_work(loop: Loop, variables: Mapping[str, Any]) -> FailedRecord | None:
    key = _found(loop.key, variables)
    if key is NO_KEY:
        key = UNKNOWN
    due = _found(loop.timer, variables)
    if due is not UNKNOWN:
        queue = _found(loop.queue, variables)
        work = Work(UNKNOWN, key, None, due, None if queue is UNKNOWN else queue, in_operator=True)
        window = _found(loop.window, variables)
        return _described(f"the timer at {due[1]}", {"": UNKNOWN, " of window": window, " of key": key}, work)
    remaining, value = _found(loop.remaining, variables), _found(loop.record, variables)
    timestamp, edge = _found(loop.timestamp, variables), _found(loop.keyed_edge, variables)
    if isinstance(value, StreamRecord):
        value, timestamp = value.value, value.timestamp
    elif isinstance(remaining, _REMAINING):
        value = _last(remaining)
    if value is UNKNOWN:
        return None
    work = Work(
        value,
        key,
        timestamp if isinstance(timestamp, int) else None,
        keyed_edge=None if edge is UNKNOWN else edge,
        in_operator=loop.in_operator,
    )
    return _described("record", {"": value, " of key": key}, work)


def _found(place: str, variables: Mapping[str, Any]) -> Any:
    """Return what stands in a place that a loop has declared; UNKNOWN: nothing, or not yet."""
    name, *attributes = place.split(".")
    found = variables.get(name, UNKNOWN)
    for attribute in attributes:
        found = UNKNOWN if found is None or found is UNKNOWN else getattr(found, attribute)
    return found


def _described(what: str, parts: Mapping[str, Any], work: Work) -> FailedRecord:
    known = {name: value for name, value in parts.items() if value is not UNKNOWN}
    text = what + "".join(f"{name} {short_repr(value, _SHOWN)}" for name, value in known.items())
    whole = what + "".join(f"{name} {short_repr(value, _COMPARED)}" for name, value in known.items())
    return FailedRecord(text, digest(without_addresses(whole)), work)


def without_addresses(text: str) -> str:
    """Return a text without addresses in memory, which are others in each process."""
    return _ADDRESS.sub("", text)


def digest(*texts: str) -> str:
    """Return a short digest of texts."""
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def _last(remaining: Any) -> Any:
    """Return what an iterator over a list gave last."""
    _, arguments, *position = remaining.__reduce__()
    return arguments[0][position[0] - 1] if position and position[0] else UNKNOWN
