"""The jobs that can be reached, and which of them somebody means."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rekindle.client.address import base_url
from rekindle.client.remote_job import RemoteJob
from rekindle.client.rest_client import RestClient
from rekindle.common.job_status import JobStatus
from rekindle.exceptions import AmbiguousJobError, NotFoundError, UnreachableError

log = logging.getLogger(__name__)

SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class FoundJob:
    """Describe a job as its driver lists it.

    Attributes:
        rest: The REST interface of its driver.
        overview: Its entry of ``/jobs/overview``.
        on_this_machine: Whether it was found by itself; if so, paths mean the same to it as to this process.
    """

    rest: RestClient
    overview: dict[str, Any]
    on_this_machine: bool

    @property
    def job_id(self) -> str:
        """Give the job's id."""
        return str(self.overview["jid"])

    @property
    def name(self) -> str:
        """Give the job's name."""
        return str(self.overview["name"])

    @property
    def status(self) -> JobStatus:
        """Give the job's state when it was found."""
        return JobStatus[str(self.overview["state"])]

    @property
    def has_ended(self) -> bool:
        """Tell whether the job is over."""
        return self.status.is_terminal_state()

    def remote(self) -> RemoteJob:
        """Give what the job can be asked by."""
        return RemoteJob(self.rest, self.job_id)

    def __str__(self) -> str:
        return f"{self.job_id}  {self.name}  {self.status.name}  {self.rest.url}"


def _log(error: UnreachableError) -> None:
    log.warning("passed over a process that seems to run jobs: %s", error)


def find_jobs(
    address: str | None = None, token: str | None = None, passed_over: Callable[[UnreachableError], None] = _log
) -> list[FoundJob]:
    """Find the jobs of one driver, or of all drivers of this user on this machine; the oldest first.

    Args:
        address: Where the driver listens: ``host:port``; None: look for drivers on this machine.
        token: What it wants to see.
        passed_over: Hears of a driver on this machine that does not answer.

    Raises:
        UnreachableError: The driver at the address does not answer.
    """
    if address is not None:
        return _by_age(_jobs_of(RestClient(base_url(address), token), False))
    from rekindle.rest.discovery import discovered

    clients = [RestClient(endpoint.url, endpoint.token or token) for endpoint in discovered()]
    if not clients:
        return []
    with ThreadPoolExecutor(min(8, len(clients))) as pool:
        found = list(pool.map(_jobs_found, clients))
    for error in found:
        if isinstance(error, UnreachableError):
            passed_over(error)
    return _by_age([job for jobs in found if isinstance(jobs, list) for job in jobs])


def _jobs_found(rest: RestClient) -> list[FoundJob] | UnreachableError:
    try:
        return _jobs_of(rest, True)
    except UnreachableError as error:
        return error


def _jobs_of(rest: RestClient, on_this_machine: bool) -> list[FoundJob]:
    return [FoundJob(rest, entry, on_this_machine) for entry in rest.get("/jobs/overview").get("jobs", ())]


def _by_age(jobs: Sequence[FoundJob]) -> list[FoundJob]:
    return sorted(jobs, key=lambda job: (job.overview.get("start-time", 0), job.job_id))


def resolve(jobs: Sequence[FoundJob], wanted: str) -> FoundJob:
    """Give the job that somebody means by an id, the beginning of one, or a name.

    A name means the running job of that name; only if none runs, one that has ended.

    Raises:
        NotFoundError: There is none.
        AmbiguousJobError: There are several.
    """
    digits = wanted.lower()
    exact = [job for job in jobs if job.job_id == digits]
    if exact:
        return exact[0]
    named = [job for job in jobs if job.name == wanted]
    named = [job for job in named if not job.has_ended] or named
    begun = [job for job in jobs if len(digits) >= SHORTEST_PREFIX and job.job_id.startswith(digits)]
    candidates = list({job.job_id: job for job in (*named, *begun)}.values())
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise AmbiguousJobError(_several(candidates, wanted))
    raise NotFoundError(_none(jobs, wanted))


def _several(candidates: Sequence[FoundJob], wanted: str) -> str:
    return "\n  ".join([f"{wanted!r} can mean {len(candidates)} jobs; give more of the id:", *map(str, candidates)])


def _none(jobs: Sequence[FoundJob], wanted: str) -> str:
    if not jobs:
        return f"there is no job {wanted!r}, nor any other"
    too_short = any(job.job_id.startswith(wanted.lower()) for job in jobs)
    hint = f" (an id can be shortened to {SHORTEST_PREFIX} digits, not further)" if too_short else ""
    return "\n  ".join([f"there is no job {wanted!r}{hint}; there are:", *map(str, jobs)])
