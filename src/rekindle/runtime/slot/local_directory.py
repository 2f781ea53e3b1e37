"""The directories of one slot on the disk of its machine: databases at work, copies of snapshots, downloads.

<base>/rekindle-<job id>/slot-<i>/copies                  outlives the attempt, for the next one
<base>/rekindle-<job id>/slot-<i>/attempt-<n>-<pid>/…     gone with the attempt, or when the next one starts

With high availability the job id has the number of the driver's claim behind it: drivers of one job share nothing here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress


class LocalDirectory:
    """Own what one attempt of a slot keeps on local disk."""

    def __init__(self, bases: Sequence[str], job_id: str, slot: int, attempt: int) -> None:
        base = bases[slot % len(bases)] if bases else tempfile.gettempdir()
        self._job = job_directory(base, job_id)
        self._slot = os.path.join(self._job, f"slot-{slot}")
        self._attempt = os.path.join(self._slot, f"attempt-{attempt}-{os.getpid()}")
        self._numbers = 0

    @property
    def copies(self) -> str:
        """Name the directory of the copies of snapshots."""
        return os.path.join(self._slot, "copies")

    def clear_earlier(self) -> None:
        """Remove what earlier attempts that were killed have left behind."""
        for name in self._attempts():
            shutil.rmtree(os.path.join(self._slot, name), ignore_errors=True)

    def fresh(self, purpose: str) -> str:
        """Make a new directory that goes with the attempt."""
        os.makedirs(os.path.dirname(self._job), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(self._job, mode=0o700)  # state is nobody else's to read
        self._numbers += 1
        path = os.path.join(self._attempt, f"{purpose}-{self._numbers}")
        os.makedirs(path)
        return path

    def close(self, job_over: bool) -> None:
        """Remove what is of use to this attempt only, and when the job is over all that no other attempt works on."""
        shutil.rmtree(self._attempt, ignore_errors=True)
        if job_over and not self._attempts():
            shutil.rmtree(self._slot, ignore_errors=True)
        for directory in (self._slot, self._job):
            with suppress(OSError):  # not empty: others still use it
                os.rmdir(directory)

    def _attempts(self) -> list[str]:
        names = os.listdir(self._slot) if os.path.isdir(self._slot) else []
        return [name for name in names if name.startswith("attempt-")]


def job_directory(base: str, job_id: str) -> str:
    """Name the directory of a job."""
    return os.path.join(base, f"rekindle-{job_id}")
