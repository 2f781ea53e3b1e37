"""Which types leave the values of columns as they are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rekindle.columns.record_types import BITS, field_types
from rekindle.columns.shapes import Shape
from rekindle.types.basic_typeinfo import BasicType
from rekindle.types.type_information import TypeInformation


def leaves_unchanged(type_info: TypeInformation, shape: Shape, columns: Sequence[pa.Array]) -> bool:
    """Return whether records of these columns are what a type would make of them."""
    types = field_types(type_info, shape)
    return types is not None and all(_fits(*pair) for pair in zip(types, columns, strict=True))


def _fits(kind: BasicType, column: pa.Array) -> bool:
    if kind is BasicType.STRING:
        return True
    if column.null_count:
        return False
    bits = BITS.get(kind, 64)
    if bits == 64 or not len(column) or (pa.types.is_integer(column.type) and column.type.bit_width <= bits):
        return True
    bounds = pc.min_max(column)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    return -(1 << bits - 1) <= least and greatest < 1 << bits - 1  # type: ignore[no-any-return]
