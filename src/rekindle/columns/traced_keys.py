"""Key selectors that only name columns: ``key_by(lambda row: row.user)``. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.columns.expressions import Field
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import traceable_callable
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.columns.tracing import record, trace


def traced_key(selector: Callable[[Any], Any], columns: tuple[str, ...]) -> int | tuple[int, ...] | None:
    """Find which columns a key selector returns; None if it does anything else, or columns have one name."""
    if len(set(columns)) != len(columns):
        return None
    try:
        traced = trace(traceable_callable(selector), record(Shape.row(columns)))
    except NotTraceable:
        return None
    places = tuple(field.place for field in traced.fields if isinstance(field, Field))
    if not places or len(places) != len(traced.fields) or traced.shape.kind is ShapeKind.ROW:
        return None
    return places[0] if traced.shape.kind is ShapeKind.VALUE else places
