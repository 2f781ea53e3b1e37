"""Ready-made conditions for trying an asynchronous request again."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Return True if the request had no results."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Return True if the request raised anything."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Return True if the request raised ``expected_error_type``; bind that with ``functools.partial``."""
    return isinstance(error, expected_error_type)
