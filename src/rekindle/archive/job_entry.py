"""What is kept of one job, and what it says about a job whose process is gone."""

from __future__ import annotations

import socket
import time
from datetime import datetime

import msgspec

from rekindle.base.process_identity import boot_id, process_runs
from rekindle.contracts.job.job_status import JobStatus

VERSION = 1
LOST = "LOST"
"""The state of a job whose process ended without having said how the job ended."""

HEARTBEAT_SECONDS = 5.0
_SILENT_SECONDS = 60.0


class KeptCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Name a completed checkpoint.

    Attributes:
        id: Its number.
        time: When it was complete, in milliseconds.
        path: Where it is; None: in memory.
    """

    id: int
    time: int
    path: str | None


class JobEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Describe a job, as its driver wrote it down last.

    Attributes:
        version: The version of this format.
        job_id: Its id.
        job_name: Its name.
        program: The program that ran it.
        arguments: The program's arguments.
        host: The machine.
        boot_id: Which run of that machine.
        pid: The process.
        start_ticks: When that process started, as the kernel counts.
        started: When the job was started, in milliseconds.
        ended: When it ended; None: it has not, as far as was written.
        status: Its state, by the names of JobStatus.
        why: Why it failed or ended; None: there is nothing to say.
        parallelism: How many slots it has.
        restarts: How often it was started again.
        checkpoint: Its last completed checkpoint that is still there.
        savepoint: Its last savepoint.
        log: The file with the program's output; None: it has none.
        directory: Where its checkpoints and crash records are; None: in memory.
    """

    version: int = VERSION
    job_id: str
    job_name: str
    program: str
    arguments: tuple[str, ...]
    host: str
    boot_id: str | None
    pid: int
    start_ticks: int | None
    started: int
    ended: int | None = None
    status: str = JobStatus.CREATED.name
    why: str | None = None
    parallelism: int | None = None
    restarts: int = 0
    checkpoint: KeptCheckpoint | None = None
    savepoint: str | None = None
    log: str | None = None
    directory: str | None = None

    @property
    def file_name(self) -> str:
        """Name its file: each driver of a job that is taken over has one."""
        return f"{self.started}-{self.job_id}-{self.pid}.json"


class KeptJob(msgspec.Struct, frozen=True):
    """Tell about a job by what is kept of it.

    Attributes:
        entry: What its driver wrote.
        heartbeat: When that was still alive, in seconds.
    """

    entry: JobEntry
    heartbeat: float

    @property
    def job_id(self) -> str:
        """Return the job's id."""
        return self.entry.job_id

    @property
    def name(self) -> str:
        """Return the job's name."""
        return self.entry.job_name

    @property
    def started(self) -> int:
        """Return the time at which the job was started, in milliseconds."""
        return self.entry.started

    @property
    def status(self) -> str:
        """Return the job's state: that of JobStatus, or LOST."""
        return LOST if self.lost else self.entry.status

    @property
    def has_ended(self) -> bool:
        """Return whether the job is over."""
        return self.entry.ended is not None or self.lost

    @property
    def lost(self) -> bool:
        """Return whether the process ended without having said how the job ended."""
        entry = self.entry
        if entry.ended is not None:
            return False
        if entry.host != socket.gethostname():  # as in a directory that several machines share
            return time.time() - self.heartbeat > _SILENT_SECONDS
        return entry.boot_id != boot_id() or not process_runs(entry.pid, entry.start_ticks)

    @property
    def ended(self) -> int | None:
        """Return the time at which the job ended, or was last heard of, in milliseconds; None: it goes on."""
        return round(self.heartbeat * 1000) if self.lost else self.entry.ended

    @property
    def why(self) -> str | None:
        """Return why the job ended, if there is anything to say."""
        if not self.lost:
            return self.entry.why
        moment = datetime.fromtimestamp(self.heartbeat).astimezone().isoformat(timespec="seconds")
        return f"its process (pid {self.entry.pid} on {self.entry.host}) ended without reporting how, at about {moment}"

    def __str__(self) -> str:
        return f"{self.job_id}  {self.name}  {self.status}"
