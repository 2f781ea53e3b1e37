"""Arrow batches as records, for functions that have their results in Arrow."""

from rekindle.columns.arrow_records import rows_of

__all__ = ["rows_of"]
