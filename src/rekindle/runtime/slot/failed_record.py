"""Which record, or which timer, an operator was at when user code raised.

Nobody keeps count of records while all goes well. After a failure the loop that was at work is still there, in the
traceback: in operators and in exchanges the record of a loop is called ``value`` (``record``, if it is a StreamRecord),
a timer ``due``; an iterator over the records of a comprehension, whose variables are gone by then, ``remaining``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rekindle.contracts.operators.stream_record import StreamRecord
from rekindle.runtime.exchange.writers import keys_of
from rekindle.runtime.slot.short_text import short_repr
from rekindle.state.keyed_backend import NO_KEY

_PACKAGE = Path(__file__).resolve().parents[2]
_LOOPS = tuple(str(_PACKAGE / room) + os.sep for room in ("runtime/operators", "runtime/exchange", "connectors"))
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
        for frame in _loops(error):
            found = _at_work(frame)
            if found is not None:
                return found
    except BaseException:  # whatever user code does to who looks at its objects: its own error is the one to tell of
        return None
    return None


def _loops(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(_LOOPS):
            yield trace.tb_frame
        trace = trace.tb_next


def _at_work(frame: FrameType) -> FailedRecord | None:
    names = frame.f_locals
    due, key = names.get("due"), _key(names)
    if isinstance(due, tuple):
        window = names.get("window", UNKNOWN)
        work = Work(UNKNOWN, key, None, due, getattr(names.get("queue"), "name", None), in_operator=True)
        return _described(f"the timer at {due[1]}", {"": UNKNOWN, " of window": window, " of key": key}, work)
    value, record, remaining = names.get("value", UNKNOWN), names.get("record"), names.get("remaining")
    timestamp = next((names[name] for name in ("stamp", "timestamp") if isinstance(names.get(name), int)), None)
    if isinstance(record, StreamRecord):
        value, timestamp = record.value, record.timestamp
    elif isinstance(remaining, _REMAINING):
        value = _last(remaining)
    if value is UNKNOWN:
        return None
    selecting = frame.f_code.co_name == keys_of.__name__
    keyed_edge = names["edge"].id if selecting else None
    in_operator = frame.f_code.co_filename.startswith(_LOOPS[0])
    if timestamp is None:
        timestamp = getattr(getattr(names.get("self"), "_context", None), "current_timestamp", None)
    work = Work(value, key, timestamp, keyed_edge=keyed_edge, in_operator=in_operator)
    return _described("record", {"": value, " of key": key}, work)


def _key(names: Mapping[str, Any]) -> Any:
    """Return the current key of the operator whose loop it is, or of its timers."""
    operator = names.get("self")
    key = getattr(getattr(operator, "backend", getattr(operator, "_backend", None)), "key", NO_KEY)
    return UNKNOWN if key is NO_KEY else key


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
