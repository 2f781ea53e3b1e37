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

# The references to an object that only the calling loop holds: its variable, two parameters, getrefcount's own.
_FRESH = 4


def unshared(value: Any) -> Any:
    """Return a value that user code cannot change: itself where that is certain, else a copy.

    Call it with a local variable that holds the only other reference the caller has.
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
    try:
        return pickle.loads(pickle.dumps(value, 5))
    except Exception:
        return value  # a generator, a connection, a lambda: passed on as it is, within the slot
