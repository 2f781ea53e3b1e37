"""About how much memory an object takes, from a look at a few of its parts: less than a microsecond for a record."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from sys import getsizeof
from typing import Any

_LOOKED_AT = 64  # parts of an object
_SMALL = frozenset({int, float, bool, type(None)})


def object_size(item: Any) -> int:
    """Estimate the bytes of an object, with what it holds; if it holds much, by a part of that."""
    return _size(item, _LOOKED_AT)


def _size(part: Any, parts: int) -> int:
    kind = type(part)
    if kind in _SMALL:
        return 32
    if kind is str or kind is bytes:
        return len(part) + 64
    if kind is tuple or kind is list:
        held: Any = part
    elif isinstance(part, dict):
        held = part.values()
    elif isinstance(part, tuple | list | set | frozenset):
        held = part
    else:
        size: int = getattr(part, "nbytes", 0) or getsizeof(part, 64)  # that of an array or table, not of its face
        held = getattr(part, "__dict__", None)
        return size if held is None else size + _size(held, parts - 1)
    count = len(held)
    looked_at = min(count, parts)
    if looked_at < 1:
        return 64 + 8 * count
    each = parts // looked_at - 1
    known = 0
    for inner in islice(held, looked_at):
        known += 32 if type(inner) in _SMALL else _size(inner, each)
    return 64 + 8 * count + known * count // looked_at


def typical_size(items: Collection[Any], samples: int = 8) -> int:
    """Estimate the size of one of several objects: the largest of the first few."""
    return max(map(object_size, islice(items, samples)), default=1)
