"""The counterpart of ``pyflink.datastream.time_domain``."""

from __future__ import annotations

from rekindle.contracts.time.time_domain import (
    TimeDomain,
)

__all__ = ["TimeDomain"]
