"""Programs that go on when the command that started them has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from rekindle.archive.directory import log_directory
from rekindle.base.file_modes import file_mode
from rekindle.cli import log_writer
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import messages
from rekindle.cli.program import Program, as_exit_code
from rekindle.cli.program_end import read_end
from rekindle.config.configuration_files import layered_configuration
from rekindle.config.options import LogOptions
from rekindle.contracts.job.job_status import JobStatus
from rekindle.program.program_errors import LOG_FILE, RUN_REPORT
from rekindle.program.run_report import JobReport, read_reports
from rekindle.rest.discovery import Endpoint, discovered

DETACHED_REPORT = "REKINDLE_DETACHED_REPORT"
"""The variable by which a command that does not stay names its report to one that does, and hands it its settings."""

_POLL_SECONDS = 0.1
_LAST_WORDS_SECONDS = 30
_URL_SECONDS = 1.0
_TAIL = 30
_ROOM = 1 << 16
_LOST = (JobStatus.FAILING.name, JobStatus.FAILED.name, JobStatus.CANCELED.name)


@dataclass(frozen=True, slots=True)
class DetachedJob:
    """Say where a job is that was left running.

    Attributes:
        job_id: Its id.
        job_name: Its name.
        pid: The process of the program.
        log: The file with the output of the program.
        url: Where its REST interface is; None: it has none.
        dashboard: The address to open in a browser, with the token that it wants to see.
    """

    job_id: str
    job_name: str
    pid: int
    log: str
    url: str | None
    dashboard: str | None


def start_detached(program: Program, log: str | None, restart_driver: bool = False) -> DetachedJob:
    """Start a program in a session of its own, and wait until its first job runs.

    Args:
        program: The program.
        log: The file for its output; None: one in this user's directory for them.
        restart_driver: Whether to start it through a command that stays, and starts it again when it dies.

    Raises:
        CommandError: The program ended before a job ran, or its job at once; or Ctrl-C, which ends it.
    """
    command = _restarting(program) if restart_driver else program.command()
    log = os.path.abspath(log or log_directory() / _log_name(program))
    with tempfile.TemporaryDirectory(prefix="rekindle-run-") as directory:
        report = os.path.join(directory, "report")
        Path(report).touch()
        variable = DETACHED_REPORT if restart_driver else RUN_REPORT
        environment = program.environment(**{variable: report, LOG_FILE: log, "PYTHONUNBUFFERED": "1"})
        writer = _start_writer(log, program)
        assert writer.stdin is not None
        with writer.stdin as output:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        job = _wait_for_job(process, report, program.name)
        if job is None or job.status in _LOST:
            raise _lost(process, writer, report, program.name, log)
    endpoint = _endpoint_of(job.pid or process.pid)
    url, dashboard = (None, None) if endpoint is None else (endpoint.url, endpoint.dashboard)
    return DetachedJob(job.job_id, job.job_name, process.pid, log, url, dashboard)


def _restarting(program: Program) -> list[str]:
    """Return the command line of a command that runs a program in the foreground, and starts it again.

    It takes the settings from its environment, as the program does: a command line can be read by others.
    """
    program.command()  # raises if there is no such program
    options = ["--restart-driver", *["--module"][: program.module]]
    return [sys.executable, "-m", "rekindle.cli", "run", *options, program.name, *program.arguments]


def _log_name(program: Program) -> str:
    name = os.path.basename(program.name).removesuffix(".py")
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


def _start_writer(log: str, program: Program) -> subprocess.Popen[bytes]:
    """Start the process that writes the log.

    Raises:
        CommandError: The log cannot be written.
    """
    try:
        _check_room(log)  # found out now, and not by a process that nobody listens to
    except OSError as error:
        raise CommandError(
            f"the log cannot be written to {log}: {error.strerror}. Give another file with --log, or set "
            "REKINDLE_STATE_DIR to a directory with room",
            ExitCode.USAGE,
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program warns of the same keys
        settings = layered_configuration(program.properties)
    limits = str(settings.get(LogOptions.MAX_SIZE)), str(settings.get(LogOptions.MAX_FILES))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", log_writer.__file__, log, *limits, str(file_mode())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _check_room(log: str) -> None:
    """Raise OSError if a log cannot be written, or has no room for even its first lines."""
    os.close(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, file_mode()))  # it says what records hold
    if os.path.isfile(log):
        with tempfile.TemporaryFile(dir=os.path.dirname(log)) as probe:
            probe.write(bytes(_ROOM))


def _lost(
    process: subprocess.Popen[bytes], writer: subprocess.Popen[bytes], report: str, name: str, log: str
) -> CommandError:
    """Return why no job was left running; the end of the log is shown, unless Rekindle can tell better."""
    code = int(ExitCode.FAILED)
    with suppress(subprocess.TimeoutExpired):
        code = as_exit_code(process.wait(_LAST_WORDS_SECONDS))
        writer.wait(_LAST_WORDS_SECONDS)
    end = read_end(code, report)
    problem = end.problem(name) or f"{name} ended with exit code {code} without a running job"
    if end.error is None:
        _show_end_of(Path(log))
    return CommandError(f"{problem}\n(full output: {log})", end.exit_code)


def _endpoint_of(pid: int) -> Endpoint | None:
    """Find the REST interface of a driver; it may need a moment more than the job."""
    until = time.monotonic() + _URL_SECONDS
    while True:
        found = next((endpoint for endpoint in discovered() if endpoint.pid == pid), None)
        if found is not None or time.monotonic() > until:
            return found
        time.sleep(_POLL_SECONDS)


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
