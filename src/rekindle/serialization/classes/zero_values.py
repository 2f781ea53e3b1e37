"""What a field starts as that was added without a default: zero, empty, or None."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

_ZEROS: dict[Any, Callable[[], Any]] = {
    kind: kind for kind in (bool, int, float, complex, str, bytes, bytearray, list, dict, set, frozenset)
}


def zero_value(annotation: Any) -> Callable[[], Any]:
    """Return what makes the zero value of a type: 0, 0.0, "", False, b"", an empty collection; None for all others.

    Args:
        annotation: A resolved annotation.
    """
    while True:
        if isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif typing.get_origin(annotation) is typing.Annotated:
            annotation = annotation.__origin__
        else:
            break
    origin = typing.get_origin(annotation) or annotation
    if origin is tuple:
        arguments = typing.get_args(annotation)
        # A tuple of fixed length has no empty value.
        return tuple if not arguments or arguments[-1] is Ellipsis else _none
    try:
        return _ZEROS.get(origin, _none)
    except TypeError:  # an annotation that is not hashable
        return _none


def _none() -> None:
    return None
