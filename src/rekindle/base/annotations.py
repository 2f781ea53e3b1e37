"""Annotations as a class or a function has them, also where a name in one of them means nothing.

From Python 3.14 on they are evaluated when they are asked for, which fails where a name was imported for type checkers
only.
"""

from __future__ import annotations

import inspect
import sys
from types import FunctionType
from typing import Any

if sys.version_info >= (3, 14):
    import annotationlib


def own_annotations(owner: Any) -> dict[str, Any]:
    """Return the annotations of a class or a function, without those of base classes.

    What cannot be evaluated is a string, or a ``ForwardRef``.
    """
    if sys.version_info >= (3, 14):
        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)


def portable_annotations(owner: Any) -> dict[str, Any]:
    """Return the same in a form that can be pickled: as they are written, if one of them cannot be evaluated."""
    if sys.version_info >= (3, 14):
        try:
            return inspect.get_annotations(owner)
        except Exception:  # whatever evaluating an annotation raises
            return annotationlib.get_annotations(owner, format=annotationlib.Format.STRING)
    return inspect.get_annotations(owner)


def make_portable(function: FunctionType) -> None:
    """Let a function have the annotations that can be pickled."""
    function.__annotations__ = portable_annotations(function)
