"""Speak to jobs in other processes, on this machine or elsewhere, through their REST interface."""

from __future__ import annotations

from rekindle.client.found_job import FoundJob, resolve
from rekindle.client.remote_job_client import RemoteJobClient
from rekindle.client.rest_client import RestClient
from rekindle.client.search import find_jobs
from rekindle.contracts.job.job_client import JobClient

__all__ = ["FoundJob", "RemoteJobClient", "RestClient", "find_jobs", "get_job_client"]


def get_job_client(job: str, address: str | None = None, token: str | None = None) -> JobClient:
    """Return the client of a job that runs in another process.

    Args:
        job: The job's id, the beginning of it (four digits at least), or a name that only one running job has.
        address: Where its driver listens: ``"host:port"``; None: look for the job on this machine.
        token: What the driver wants to see (``rest.token``), if it listens beyond its own machine.

    Raises:
        NotFoundError: There is no such job.
        AmbiguousJobError: Several jobs go by that name.
        UnreachableError: The driver does not answer, or not to this token.
    """
    return RemoteJobClient(resolve(find_jobs(address, token), job).remote())
