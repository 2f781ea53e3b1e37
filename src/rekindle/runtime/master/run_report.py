"""What a program's jobs do, told to the command that runs the program: lines of JSON in a file.

``rekindle run`` makes the file and names it in an environment variable; ``reported_view`` writes it. Each line is all
that there is to say about a job at that time; the last line of a job counts.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rekindle.common.job_status import JobStatus

RUN_REPORT = "REKINDLE_RUN_REPORT"


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
    """

    job_id: str
    job_name: str
    status: str
    runtime_ms: int = 0
    checkpoint: str | None = None
    savepoint: str | None = None
    failure: str | None = None

    @property
    def ended(self) -> bool:
        """Tell whether the job is over."""
        return JobStatus[self.status].is_terminal_state()

    def to_line(self) -> str:
        """Write it as a line."""
        return json.dumps(asdict(self)) + "\n"


def read_reports(path: str) -> list[JobReport]:
    """Give the jobs that a program has submitted so far, in that order."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]  # what follows the last line end is still being written
    reports = [JobReport(**json.loads(line)) for line in lines]
    return list({report.job_id: report for report in reports}.values())
