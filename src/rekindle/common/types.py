"""The counterpart of ``pyflink.common.types``."""

from __future__ import annotations

from rekindle.types.row import (
    Row,
    RowKind,
    row_from,
)

__all__ = ["Row", "RowKind", "row_from"]
