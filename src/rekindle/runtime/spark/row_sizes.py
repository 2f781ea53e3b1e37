"""How many rows, and how many bytes, Spark hands to a Python worker at once; and rows of which that is known before."""

from __future__ import annotations

from pyspark.sql import types
from pyspark.sql.types import StructType

ROWS_PER_BATCH = 20_000
MOST_BYTES_PER_BATCH = 32 << 20
BYTES_PER_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"

_WIDEST = 16  # bytes: a decimal
_FIXED = (
    types.NumericType,
    types.BooleanType,
    types.DateType,
    types.TimestampType,
    types.TimestampNTZType,
    types.DayTimeIntervalType,
    types.YearMonthIntervalType,
    types.NullType,
)


def has_small_rows(schema: StructType) -> bool:
    """Return whether a batch of rows has fewer bytes than a batch may have, whatever is in them."""
    fixed = all(isinstance(field.dataType, _FIXED) for field in schema.fields)
    return fixed and len(schema.fields) * (_WIDEST + 1) * ROWS_PER_BATCH <= MOST_BYTES_PER_BATCH
