"""What a loop over records or timers is at, for when user code raises in it: the loop itself says where that stands.

Nobody keeps count of records while all goes well. After a failure the loop that was at work is still there, in the
traceback, with its variables. A loop that calls user code, or the first of several that call one another, names those
that say what it is at, in a decorator beside it. The decorator leaves the function as it is, so that a record costs
nothing more. Where the variables of a comprehension are gone by then, a variable of the function holds its iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_OPERATORS = "rekindle.runtime.operators."


@dataclass(frozen=True, slots=True)
class Loop:
    """Tell where a loop has what it is at: each is a variable, or an attribute of one, such as ``backend.key``.

    Attributes:
        in_operator: Whether the loop is an operator's, whose record came as it is here.
        record: The record.
        remaining: An iterator over a list of records, which gave the record last; if it is there, it counts.
        timer: The timer, as its queue keeps it.
        key: The key.
        timestamp: The timestamp of the record.
        queue: The name of the timer's queue.
        window: The window of the timer.
        keyed_edge: The edge whose key selector is called.
    """

    in_operator: bool
    record: str = ""
    remaining: str = ""
    timer: str = ""
    key: str = ""
    timestamp: str = ""
    queue: str = ""
    window: str = ""
    keyed_edge: str = ""


_LOOPS: dict[CodeType, Loop] = {}


def at_record(
    record: str = "", *, remaining: str = "", key: str = "", timestamp: str = "", keyed_edge: str = ""
) -> Callable[[_F], _F]:
    """Declare where a function that goes through records has the one that it is at.

    Raises:
        TypeError: It has no such variable.
    """

    def declare(function: _F) -> _F:
        in_operator = function.__module__.startswith(_OPERATORS)
        loop = Loop(in_operator, record, remaining=remaining, key=key, timestamp=timestamp, keyed_edge=keyed_edge)
        return _declared(function, loop, (record, remaining, key, timestamp, keyed_edge))

    return declare


def at_timer(timer: str, *, key: str = "", queue: str = "", window: str = "") -> Callable[[_F], _F]:
    """Declare where a function that fires timers has the one that it is at.

    Raises:
        TypeError: It has no such variable.
    """

    def declare(function: _F) -> _F:
        loop = Loop(True, timer=timer, key=key, queue=queue, window=window)
        return _declared(function, loop, (timer, key, queue, window))

    return declare


def declared_loop(code: CodeType) -> Loop | None:
    """Return what a function declares, by its code."""
    return _LOOPS.get(code)


def _declared(function: _F, loop: Loop, places: tuple[str, ...]) -> _F:
    code = function.__code__
    known = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    missing = [place for place in places if place and place.partition(".")[0] not in known]
    if missing:
        raise TypeError(f"{function.__qualname__} has no variable for {', '.join(missing)}")
    _LOOPS[code] = loop
    return function
