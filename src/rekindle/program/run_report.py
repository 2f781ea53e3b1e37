"""What a program's jobs do, told to the command that runs the program: lines of JSON in a file.

``rekindle run`` makes the file and names it in an environment variable; ``job_reporter`` writes it. Each line is all
that there is to say about a job at that time; the last line of a job counts. Of an error that ends the program,
``rekindle.program.program_errors`` writes the last line.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import RekindleError, kind_name

_ERROR = "error"


@dataclass(frozen=True, slots=True)
class JobReport:
    """Describe a job of the program.

    Attributes:
        job_id: Its id.
        job_name: Its name.
        status: What it does, by the names of JobStatus.
        runtime_ms: For how long it has run.
        checkpoint: Where its last checkpoint is, once the job has ended and if that was kept.
        savepoint: Where its last savepoint is.
        failure: Why it failed, or was restarted the last time.
        pid: The process that runs it.
        recoverable: Whether the next driver goes on with it, if this one dies: high availability is on.
    """

    job_id: str
    job_name: str
    status: str
    runtime_ms: int = 0
    checkpoint: str | None = None
    savepoint: str | None = None
    failure: str | None = None
    pid: int | None = None
    recoverable: bool = False

    @property
    def ended(self) -> bool:
        """Return whether the job is over."""
        return JobStatus[self.status].is_terminal_state()

    def to_line(self) -> str:
        """Write it as a line."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """Describe the error of Rekindle's that ended the program.

    Attributes:
        error: What it says.
        kind: The name of its class in ``rekindle.exceptions``.
    """

    error: str
    kind: str

    @staticmethod
    def of(error: RekindleError) -> ErrorReport:
        """Describe an error."""
        return ErrorReport(str(error), kind_name(error))

    def to_line(self) -> str:
        """Write it as a line."""
        return json.dumps(asdict(self)) + "\n"


def write_line(paths: str, line: str) -> None:
    """Add a line, whole; a command may have ended, and its file be gone: that matters to nobody any more.

    Args:
        paths: The files, with ``os.pathsep`` between them, as there may be more than one who reads.
        line: The line.
    """
    for path in paths.split(os.pathsep):
        with suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)


def read_reports(path: str) -> list[JobReport]:
    """Return the jobs that a program has submitted so far, in that order."""
    reports = [JobReport(**document) for document in _documents(path) if _ERROR not in document]
    return list({report.job_id: report for report in reports}.values())


def read_error(path: str) -> ErrorReport | None:
    """Return the error of Rekindle's that ended a program, if one did."""
    errors = [ErrorReport(**document) for document in _documents(path) if _ERROR in document]
    return errors[-1] if errors else None


def _documents(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]  # what follows the last line end is still being written
    return [json.loads(line) for line in lines]
