"""Programs as graphs, and their plans: :func:`to_mermaid` and :func:`to_svg` draw what a program will run as."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rekindle.graph.mermaid import to_mermaid
    from rekindle.graph.svg import to_svg

__all__ = ["to_mermaid", "to_svg"]

_HOME = {"to_mermaid": "mermaid", "to_svg": "svg"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
