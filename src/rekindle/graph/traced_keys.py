"""Key selectors that only name columns: ``key_by(lambda row: row.user)``.

They are recognised by a call with a row that notes which fields are asked for. If what comes back is a field, or a
tuple of fields, and nothing else was done with them, it is known where the keys come from, and of which type they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def traced_key(selector: Callable[[Any], Any], columns: tuple[str, ...]) -> int | tuple[int, ...] | None:
    """Find which columns a key selector returns; None if it does anything else, or columns have one name."""
    if len(set(columns)) != len(columns):
        return None
    try:
        result = selector(_TracedRow(columns))
    except Exception:
        return None
    if type(result) is _Field:
        return result.index
    if type(result) is tuple and result and all(type(part) is _Field for part in result):
        return tuple(part.index for part in result)
    return None


class _Field:
    """Stand for the value of a field; whatever is done with it raises."""

    __slots__ = ("index",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, index: int) -> None:
        self.index = index

    def __bool__(self) -> bool:
        raise _Opaque

    def __eq__(self, other: object) -> bool:
        raise _Opaque

    def __str__(self) -> str:
        raise _Opaque

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        raise _Opaque


class _TracedRow:
    """Stand for a row: give fields by name or position."""

    __slots__ = ("_columns",)

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> _Field:
        return self[name]

    def __getitem__(self, item: Any) -> _Field:
        if isinstance(item, str):
            return _Field(self._columns.index(item))
        if type(item) is int:
            return _Field(range(len(self._columns))[item])
        raise _Opaque


class _Opaque(Exception):  # noqa: N818 - a signal, not an error
    pass
