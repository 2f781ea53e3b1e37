"""A job that can be reached, and which of several somebody means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from rekindle.client.remote_job import RemoteJob
from rekindle.client.rest_client import RestClient
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import AmbiguousJobError, NotFoundError
from rekindle.rest.discovery import Endpoint

SHORTEST_PREFIX = 4
_MAY_HAVE_ENDED = "it may have ended: see rekindle list -a"


class NamedJob(Protocol):
    """What a job is found by."""

    @property
    def job_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def started(self) -> int: ...
    @property
    def has_ended(self) -> bool: ...


J = TypeVar("J", bound=NamedJob)


@dataclass(frozen=True, slots=True)
class FoundJob:
    """Describe a job as its driver lists it.

    Attributes:
        rest: The REST interface of its driver.
        overview: Its entry of ``/jobs/overview``.
        endpoint: What its driver wrote down on this machine; None: it was not found by itself.
    """

    rest: RestClient
    overview: dict[str, Any]
    endpoint: Endpoint | None

    @property
    def on_this_machine(self) -> bool:
        """Return whether it was found by itself; if so, paths mean the same to it as to this process."""
        return self.endpoint is not None

    @property
    def job_id(self) -> str:
        """Return the job's id."""
        return str(self.overview["jid"])

    @property
    def name(self) -> str:
        """Return the job's name."""
        return str(self.overview["name"])

    @property
    def started(self) -> int:
        """Return the time at which the job was started, in milliseconds."""
        return int(self.overview.get("start-time", 0))

    @property
    def status(self) -> JobStatus:
        """Return the job's state when it was found."""
        return JobStatus[str(self.overview["state"])]

    @property
    def has_ended(self) -> bool:
        """Return whether the job is over."""
        return self.status.is_terminal_state()

    def remote(self) -> RemoteJob:
        """Return what the job can be asked by."""
        return RemoteJob(self.rest, self.job_id)

    def __str__(self) -> str:
        return f"{self.job_id}  {self.name}  {self.status.name}  {self.rest.url}"


def resolve(jobs: Sequence[J], wanted: str) -> J:
    """Return the job that somebody means by an id, the beginning of one, or a name.

    A name means the running job of that name; only if none runs, the last one that has ended. A job that another
    driver has taken over is known to two drivers: the one that runs it is meant, else the one that ran it last.

    Raises:
        NotFoundError: There is none.
        AmbiguousJobError: There are several.
    """
    digits = wanted.lower()
    exact = _once([job for job in jobs if job.job_id == digits])
    if exact:
        return exact[0]
    named = sorted((job for job in jobs if job.name == wanted), key=lambda job: job.started)
    named = [job for job in named if not job.has_ended] or named[-1:]
    begun = [job for job in jobs if len(digits) >= SHORTEST_PREFIX and job.job_id.startswith(digits)]
    candidates = _once([*named, *begun])
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise AmbiguousJobError(_several(candidates, wanted))
    raise NotFoundError(_none(jobs, wanted))


def _once(jobs: Iterable[J]) -> list[J]:
    """Return each job once: where two drivers know it, as the one that runs it, or ran it last, describes it."""
    best_last = sorted(jobs, key=lambda job: (not job.has_ended, job.started))
    return list({job.job_id: job for job in best_last}.values())


def _several(candidates: Sequence[NamedJob], wanted: str) -> str:
    return "\n  ".join([f"{wanted!r} can mean {len(candidates)} jobs; give more of the id:", *map(str, candidates)])


def _none(jobs: Sequence[NamedJob], wanted: str) -> str:
    if not jobs:
        return f"there is no job {wanted!r}, nor any other; {_MAY_HAVE_ENDED}"
    too_short = any(job.job_id.startswith(wanted.lower()) for job in jobs)
    hint = f" (an id can be shortened to {SHORTEST_PREFIX} digits, not further)" if too_short else ""
    return "\n  ".join([f"there is no job {wanted!r}{hint}; {_MAY_HAVE_ENDED}. There are:", *map(str, jobs)])
