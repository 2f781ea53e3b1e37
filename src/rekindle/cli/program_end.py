"""How a program ended, by its exit code and by what it reported: what to say about it, and how the command ends."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from rekindle.cli.exit_codes import ExitCode, exit_code_of_kind
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import kind_named
from rekindle.program.run_report import ErrorReport, JobReport, read_error, read_reports

_SIGNALLED = 128
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # by who wants it to end


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """Describe the end of a program.

    Attributes:
        code: Its exit code, as a shell would give it.
        jobs: Its jobs, in the order of their submission.
        error: The error of Rekindle's that ended it, if one did.
    """

    code: int
    jobs: tuple[JobReport, ...] = ()
    error: ErrorReport | None = None

    @property
    def exit_code(self) -> int:
        """Return how the command ends, by the exit code of the program, its error, and how its last job ended."""
        last = JobStatus[self.jobs[-1].status] if self.jobs else None
        if last is JobStatus.CANCELED and self.code in (ExitCode.OK, ExitCode.FAILED):
            return int(ExitCode.CANCELLED)
        if self.code == ExitCode.FAILED and self.error is not None:
            return int(exit_code_of_kind(kind_named(self.error.kind)))
        if self.code == ExitCode.OK and last is not JobStatus.FINISHED:
            return int(ExitCode.FAILED)
        return self.code

    @property
    def driver_lost(self) -> bool:
        """Return whether the program was killed, or lost its Spark: it could go on where it was."""
        number = _signal_of(self.code)
        lost_spark = self.error is not None and self.exit_code == ExitCode.DRIVER_LOST
        return lost_spark or (number is not None and number not in _REQUESTS)

    def problem(self, name: str) -> str | None:
        """Return what went wrong; None where nothing did, or only the program itself can say it.

        Args:
            name: The name of the program.
        """
        if self.error is not None:
            return self.error.error
        left = ", ".join(f"job {job.job_name!r} ({job.job_id}) was {job.status}" for job in self.jobs if not job.ended)
        number = _signal_of(self.code)
        if number is not None:
            ended = "interrupted" if number is signal.SIGINT else f"{name} was ended by {number.name}"
            return f"{ended} while {left}" if left else ended
        if left:
            advice = "wait for its result: execute_async(…).get_job_execution_result().result()"
            return f"the program ended while {left}; {advice}"
        if self.code == ExitCode.OK and not self.jobs:
            return f"{name} ended without having executed a job: it calls no execute()"
        return None


def read_end(code: int, report: str) -> ProgramEnd:
    """Describe the end of a program by its exit code and its report."""
    error = None if code == ExitCode.OK else read_error(report)
    return ProgramEnd(code, tuple(read_reports(report)), error)


def _signal_of(code: int) -> signal.Signals | None:
    try:
        return signal.Signals(code - _SIGNALLED)
    except ValueError:
        return None
