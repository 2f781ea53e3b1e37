"""Constants that PyFlink programs import from ``pyflink.common.constants``."""

from __future__ import annotations

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

MAX_LONG_VALUE = (1 << 63) - 1
"""The largest timestamp: the watermark that ends a bounded input."""

MIN_LONG_VALUE = -(1 << 63)
"""The smallest timestamp: the watermark before any was seen."""

DEFAULT_OUTPUT_TAG = ""
"""The tag of an operator's main output."""
