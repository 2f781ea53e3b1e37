"""Points in time that a program gives: whole milliseconds within 64 bits, as everything that stores them expects."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import Any

from rekindle.exceptions import InvalidArgumentError, InvalidCallError

EARLIEST = -(1 << 63)
LATEST = (1 << 63) - 1


def milliseconds(time: Any, what: str) -> int:
    """Return a point in time as an int.

    Args:
        time: What the program gave; integers of other libraries, such as numpy's, are converted.
        what: What it is the time of, for messages: "the time of a timer".

    Raises:
        InvalidCallError: It is not an integer; this is a TypeError, too.
        InvalidArgumentError: It does not fit into 64 bits.
    """
    number = None
    if type(time) is not bool:
        with suppress(TypeError):
            number = index(time)
    if number is None:
        raise InvalidCallError(
            f"{what} was given as {_shown(time)}, a {type(time).__name__}: it is a whole number of milliseconds since "
            "the epoch; pass an int"
        )
    if not EARLIEST <= number <= LATEST:
        raise InvalidArgumentError(
            f"{what} was given as {_shown(number)}: it is a number of milliseconds since the epoch, and has to fit "
            "into 64 bits"
        )
    return number


def _shown(time: Any) -> str:
    try:
        text = repr(time)
    except ValueError:  # an integer of more digits than Python writes
        return f"a number of {time.bit_length()} bits"
    return text if len(text) <= 80 else f"{text[:80]}…"
