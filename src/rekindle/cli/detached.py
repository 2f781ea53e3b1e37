"""Programs that go on when the command that started them has ended."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import messages
from rekindle.cli.program import Program
from rekindle.common.job_status import JobStatus
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.run_report import RUN_REPORT, JobReport, read_reports

_POLL_SECONDS = 0.1
_LAST_WORDS_SECONDS = 30
_TAIL = 30
_LOST = (JobStatus.FAILING.name, JobStatus.FAILED.name, JobStatus.CANCELED.name)


@dataclass(frozen=True, slots=True)
class DetachedJob:
    """Say where a job is that was left running.

    Attributes:
        job_id: Its id.
        job_name: Its name.
        pid: The process of the program.
        log: The file with the output of the program.
    """

    job_id: str
    job_name: str
    pid: int
    log: str


def start_detached(program: Program, log: str | None) -> DetachedJob:
    """Start a program in a session of its own, and wait until its first job runs.

    Args:
        program: The program.
        log: The file for its output; None: one in this user's directory for them.

    Raises:
        CommandError: The program ended before a job ran, and the end of its log is shown; or Ctrl-C, which ends it.
    """
    command = program.command()
    with tempfile.TemporaryDirectory(prefix="rekindle-run-") as directory:
        report = os.path.join(directory, "report")
        Path(report).touch()
        opened = Path(log) if log else log_directory() / f"starting-{os.getpid()}.log"
        environment = program.environment(**{RUN_REPORT: report, "PYTHONUNBUFFERED": "1"})
        with open(opened, "ab") as output:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if not log:
            name = os.path.basename(program.name).removesuffix(".py")
            opened = opened.rename(opened.with_name(f"{name}-{process.pid}.log"))
        job = _wait_for_job(process, report, program.name)
    if job is None or job.status in _LOST:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_WORDS_SECONDS)
        _show_end_of(opened)
        what = "ended without having executed a job" if job is None else f"ended: its job is {job.status}"
        raise CommandError(f"{program.name} {what}; its output is in {opened}", ExitCode.FAILED)
    return DetachedJob(job.job_id, job.job_name, process.pid, os.path.abspath(opened))


def log_directory() -> Path:
    """Give the directory for the logs of detached programs, and make it if it is not there.

    Raises:
        ConfigurationError: It belongs to somebody else.
    """
    named = os.environ.get("REKINDLE_STATE_DIR")
    base = Path(named) if named else Path(tempfile.gettempdir()) / f"rekindle-{os.getuid()}"
    for path in (base, base / "logs"):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700, parents=True)
        found = path.stat() if named else path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise ConfigurationError(
                f"{path} is not a directory of yours, so there is no place for the log: name one with --log, or set "
                "REKINDLE_STATE_DIR to a directory of your own"
            )
    return base / "logs"


def _wait_for_job(process: subprocess.Popen[bytes], report: str, name: str) -> JobReport | None:
    try:
        with messages().status(f"{name} is starting (process {process.pid})") as status:
            while True:
                ended = process.poll() is not None  # looked at before the report: all that it wrote is in there
                jobs = read_reports(report)
                if jobs and (ended or jobs[0].status != JobStatus.CREATED.name):
                    return jobs[0]
                if ended:
                    return None
                if jobs:
                    status.update(f"job {jobs[0].job_name!r} ({jobs[0].job_id}) is starting")
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise CommandError(f"interrupted: {name} was ended before its job ran", ExitCode.INTERRUPTED) from None


def _show_end_of(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    if lines:
        messages().print(Text("\n".join(lines[-_TAIL:]), style="dim"))
