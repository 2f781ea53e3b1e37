"""Programs as graphs, and their plans: :func:`to_mermaid`, :func:`to_dot` and :func:`to_svg` draw them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rekindle.graph.graphviz import to_dot, to_svg
    from rekindle.graph.mermaid import to_mermaid

__all__ = ["to_dot", "to_mermaid", "to_svg"]

_HOME = {"to_dot": "graphviz", "to_mermaid": "mermaid", "to_svg": "graphviz"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
