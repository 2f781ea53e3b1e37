"""The counterpart of ``pyflink.common.job_client``."""

from __future__ import annotations

from rekindle.contracts.job.job_client import (
    JobClient,
)

__all__ = ["JobClient"]
