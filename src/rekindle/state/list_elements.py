"""What may be an element of a list state: anything but None."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def without_none(values: Iterable[Any], name: str) -> list[Any]:
    """Return the elements to be put into a list state, all of which must be something."""
    checked = list(values)
    if any(value is None for value in checked):  # not `in`, which would compare arrays element by element
        raise none_refused(name)
    return checked


def none_refused(name: str) -> ValueError:
    """Say that None is no element of a list state."""
    return ValueError(f"None cannot be an element of list state {name!r}; leave it out or use another value")
