"""Results that nobody else can change any more.

Records travel in chunks, so a result waits for the rest of its chunk before it is written or sent. User code may keep
what it emitted, in a field or in state, and change it for the next record: by then the result must be on its own.
Numbers, text and tuples of these cannot change; a fresh object that holds only such things is known to nobody else;
anything else is copied.
"""

from __future__ import annotations

import datetime
import decimal
import pickle
import sys
import uuid
from typing import Any

FIXED = frozenset(
    {
        int,
        str,
        float,
        bool,
        bytes,
        complex,
        type(None),
        decimal.Decimal,
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
        uuid.UUID,
    }
)
"""Types whose values cannot be changed."""

# The references to an object that only the calling loop holds: its variable, two parameters, getrefcount's own. From
# Python 3.14 on, parameters borrow that of the variable that they are called with.
_FRESH = 4 if sys.version_info < (3, 14) else 1


def unshared(value: Any) -> Any:
    """Return a value that user code cannot change: itself where that is certain, else a copy.

    Call it with a local variable that holds the only other reference the caller has. For a parameter that user code
    gives a value to, there is ``unshared_argument``.
    """
    if type(value) in FIXED:
        return value
    if isinstance(value, tuple):
        for part in value:  # two thirds of the time of a set's own look at all types
            if type(part) not in FIXED:
                break
        else:
            return value
    return copied(value)


def copied(value: Any) -> Any:
    """Do what ``unshared`` does, for a value that can be changed; the caller was given it by such a loop."""
    if sys.getrefcount(value) <= _FRESH:
        kind = type(value)
        if kind is dict:
            parts = value.values()
        elif kind is list or kind is set:
            parts = value
        else:
            parts = getattr(value, "__dict__", {None: value}).values()
        if FIXED.issuperset(map(type, parts)):
            return value
    return _pickled_copy(value)


def _separate(value: Any) -> Any:
    if isinstance(value, tuple) and FIXED.issuperset(map(type, value)):
        return value
    return _pickled_copy(value)


def _pickled_copy(value: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(value, 5))
    except Exception:
        return value  # a generator, a connection, a lambda: passed on as it is, within the slot


# A parameter that borrows its reference from a variable of user code looks as if there were no such variable.
unshared_argument = unshared if sys.version_info < (3, 14) else _separate
"""Do what ``unshared`` does, for a parameter of a method that user code calls; its type is not in FIXED."""
