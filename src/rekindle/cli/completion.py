"""What a shell offers where JOB is to be given: names and ids of the jobs that are known on this machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rekindle.archive.directory import kept_jobs

if TYPE_CHECKING:
    from rekindle.archive.job_entry import KeptJob

_PLAIN = re.compile(r"[\w.+-]+")  # what needs no quotes in any shell


def complete_running_job(incomplete: str) -> list[tuple[str, str]]:
    """Offer jobs that run, each with a line about it."""
    return _offered(incomplete, [job for job in _kept() if not job.has_ended])


def complete_known_job(incomplete: str) -> list[tuple[str, str]]:
    """Offer all jobs that are known, the last ones first."""
    return _offered(incomplete, _kept())


def _kept() -> list[KeptJob]:
    try:
        return kept_jobs()[::-1]
    except Exception:  # a shell that completes has no place for errors
        return []


def _offered(incomplete: str, jobs: list[KeptJob]) -> list[tuple[str, str]]:
    """Offer names; ids where one was begun, or where a name would need quotes."""
    names = {job.name: f"{job.status} {job.job_id}" for job in reversed(jobs) if _PLAIN.fullmatch(job.name)}
    named = [(name, about) for name, about in reversed(names.items()) if name.startswith(incomplete)]
    begun = incomplete.lower()
    ids = [job for job in jobs if job.job_id.startswith(begun) and (incomplete or job.name not in names)]
    return [*named, *((job.job_id, f"{job.status} {job.name}") for job in ids)]
