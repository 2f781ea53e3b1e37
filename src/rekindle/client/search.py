"""Where jobs are looked for: at one driver, or at all drivers of this user on this machine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from rekindle.client.address import base_url
from rekindle.client.found_job import FoundJob
from rekindle.client.rest_client import RestClient
from rekindle.exceptions import UnreachableError
from rekindle.rest.discovery import Endpoint, discovered

log = logging.getLogger(__name__)

_THIS_MACHINE = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class SilentDriver:
    """Describe a driver on this machine that seems to run jobs, and does not answer.

    Attributes:
        pid: Its process.
        url: Where it should answer.
        problem: What came instead of an answer.
    """

    pid: int
    url: str
    problem: str

    def __str__(self) -> str:
        return f"process {self.pid}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Search:
    """Say what a search for jobs came to.

    Attributes:
        jobs: The jobs, the oldest first.
        silent: The drivers that were passed over.
        drivers: How many drivers there are, with those.
    """

    jobs: list[FoundJob]
    silent: list[SilentDriver]
    drivers: int


def find_jobs(address: str | None = None, token: str | None = None) -> list[FoundJob]:
    """Find the jobs of one driver, or of all drivers of this user on this machine; the oldest first.

    Args:
        address: Where the driver listens: ``host:port``; None: look for drivers on this machine.
        token: What it wants to see.

    Raises:
        UnreachableError: The driver at the address does not answer.
    """
    result = search(address, token)
    for driver in result.silent:
        log.warning("skipped a process that seems to run jobs: %s", driver)
    return result.jobs


def search(address: str | None = None, token: str | None = None) -> Search:
    """Look for jobs, as ``find_jobs`` does; tell of drivers that do not answer, too."""
    if address is not None:
        url = base_url(address)
        known = [endpoint.token for endpoint in discovered() if _is_same(endpoint.url, url) and endpoint.token]
        return Search(_by_age(_jobs_of(RestClient(url, known[0] if known else token), None)), [], 1)
    endpoints = discovered()
    if not endpoints:
        return Search([], [], 0)
    with ThreadPoolExecutor(min(8, len(endpoints))) as pool:
        answers = list(pool.map(lambda endpoint: _answer(endpoint, token), endpoints))
    jobs = [job for answer in answers if isinstance(answer, list) for job in answer]
    return Search(_by_age(jobs), [answer for answer in answers if isinstance(answer, SilentDriver)], len(endpoints))


def _is_same(known: str, url: str) -> bool:
    """Return whether a URL is that of a driver on this machine: localhost is a name of it."""
    one, other = urlsplit(known), urlsplit(url)
    hosts = {one.hostname, other.hostname}
    same_host = len(hosts) == 1 or hosts <= {*_THIS_MACHINE}
    return same_host and (one.scheme, one.port, one.path) == (other.scheme, other.port, other.path)


def _answer(endpoint: Endpoint, token: str | None) -> list[FoundJob] | SilentDriver:
    try:
        return _jobs_of(RestClient(endpoint.url, endpoint.token or token), endpoint)
    except UnreachableError as error:
        return SilentDriver(endpoint.pid, endpoint.url, str(error))


def _jobs_of(rest: RestClient, endpoint: Endpoint | None) -> list[FoundJob]:
    return [FoundJob(rest, entry, endpoint) for entry in rest.get("/jobs/overview").get("jobs", ())]


def _by_age(jobs: Sequence[FoundJob]) -> list[FoundJob]:
    return sorted(jobs, key=lambda job: (job.started, job.job_id))
