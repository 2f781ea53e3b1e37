"""The counterpart of ``pyflink.common.job_client``."""

from __future__ import annotations

from rekindle.contracts.job.completable_future import CompletableFuture as CompletableFuture
from rekindle.contracts.job.job_client import (
    JobClient,
)
from rekindle.contracts.job.job_execution_result import JobExecutionResult as JobExecutionResult
from rekindle.contracts.job.job_id import JobID as JobID
from rekindle.contracts.job.job_status import JobStatus as JobStatus

__all__ = ["JobClient"]
