"""What functions with side outputs emit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from rekindle.contracts.output_tag import OutputTag

__all__ = ["Results"]

_R = TypeVar("_R")

Results = Iterable[_R | tuple[OutputTag[Any], Any]] | None
"""Results, and pairs of a tag and a value for its side output."""
