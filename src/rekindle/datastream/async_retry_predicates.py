"""The counterpart of ``pyflink.datastream.async_retry_predicates``."""

from __future__ import annotations

from rekindle.contracts.functions.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
