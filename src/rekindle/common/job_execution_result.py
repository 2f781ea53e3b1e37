"""The counterpart of ``pyflink.common.job_execution_result``."""

from __future__ import annotations

from rekindle.contracts.job.job_execution_result import (
    JobExecutionResult,
)
from rekindle.contracts.job.job_id import JobID as JobID

__all__ = ["JobExecutionResult"]
