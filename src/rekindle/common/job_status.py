"""The counterpart of ``pyflink.common.job_status``."""

from __future__ import annotations

from rekindle.contracts.job.job_status import (
    JobStatus,
)

__all__ = ["JobStatus"]
