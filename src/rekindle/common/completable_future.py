"""The counterpart of ``pyflink.common.completable_future``."""

from __future__ import annotations

from rekindle.contracts.job.completable_future import (
    CompletableFuture,
)

__all__ = ["CompletableFuture"]
