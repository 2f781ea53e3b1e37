"""Types out of annotations, as programs import them."""

from __future__ import annotations

from rekindle.types.annotations import (
    as_type_info,
    type_of_annotation,
)

__all__ = ["as_type_info", "type_of_annotation"]
