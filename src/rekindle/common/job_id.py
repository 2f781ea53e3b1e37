"""The counterpart of ``pyflink.common.job_id``."""

from __future__ import annotations

from rekindle.contracts.job.job_id import (
    JobID,
)

__all__ = ["JobID"]
