"""Keeps on disk what becomes of a job: written when it starts, when something happens, and when it ends.

In between a thread touches the file, so that after SIGKILL the time of the file tells how long the driver lived. No
thread of the job waits for the disk but at its start and its end.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from rekindle.archive.directory import archive_directory, forget_oldest, write_entry
from rekindle.archive.job_entry import HEARTBEAT_SECONDS, JobEntry, KeptCheckpoint
from rekindle.base.process_identity import boot_id, start_ticks
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.config.secrets import arguments_shown
from rekindle.contracts.job.job_status import JobStatus
from rekindle.program.program_errors import LOG_FILE
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.views.job_history import JobHistory
from rekindle.runtime.master.views.job_reporter import kept_location
from rekindle.runtime.master.views.progress import JobObserver

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0
_LINES = 5
_CHARACTERS = 1_000


class JobArchiver:
    """Write down one job.

    Args:
        settings: The job's.
        history: What is remembered of it.
        parallelism: How many slots it has.
        heartbeat: How many seconds lie between two signs of life.
        directory: Gives the directory of the archive.
    """

    def __init__(
        self,
        settings: JobSettings,
        history: JobHistory,
        parallelism: int | None,
        heartbeat: float = HEARTBEAT_SECONDS,
        directory: Callable[[], Path] = archive_directory,
    ) -> None:
        self._settings = settings
        self._history = history
        self._heartbeat = heartbeat
        self._find_directory = directory
        self._directory: Path | None = None
        self._thread: threading.Thread | None = None
        self._news = threading.Event()
        self._over = threading.Event()
        self._stored: tuple[CompletedCheckpoint, int] | None = None
        self._savepoint: str | None = None
        pid, files = os.getpid(), settings.checkpoint_files
        self._entry = JobEntry(
            job_id=settings.job_id,
            job_name=settings.job_name,
            program=os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else "",
            arguments=arguments_shown(sys.argv[1:]),
            host=socket.gethostname(),
            boot_id=boot_id(),
            pid=pid,
            start_ticks=start_ticks(pid),
            started=history.start_time,
            parallelism=parallelism,
            log=os.environ.get(LOG_FILE),
            directory=None if files is None else files.describe(settings.job_id),
        )

    def begin(self) -> None:
        """Write the first entry, and go on doing so; nothing if no jobs are to be kept."""
        if not self._settings.archived_jobs:
            return
        try:
            self._directory = self._find_directory()
            forget_oldest(self._directory, self._settings.archived_jobs - 1)
            self._write()
        except Exception as error:  # whatever it is, the job runs
            self._directory = None
            log.warning("what becomes of job %r is not kept on disk: %s", self._settings.job_name, error)
            return
        self._thread = threading.Thread(target=self._keep, name="job-archive", daemon=True)
        self._thread.start()

    def note_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """Note the last completed checkpoint."""
        self._stored = checkpoint, self._history.now()
        self._news.set()

    def note_savepoint(self, location: str) -> None:
        """Note the last savepoint."""
        self._savepoint = location
        self._news.set()

    def note(self) -> None:
        """Note that the history has something new."""
        self._news.set()

    def end(self) -> None:
        """Write the last entry."""
        self._over.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join()  # nothing is written when the result is there
            try:
                self._write()
            except Exception as error:  # whatever it is, somebody waits for the job's result
                log.warning("how job %r ended is not kept on disk: %s", self._settings.job_name, error)

    def _keep(self) -> None:
        while not self._over.is_set():
            news = self._news.wait(self._heartbeat)
            self._news.clear()
            with suppress(Exception):  # a disk that is full now may not be the next time
                if news and not self._over.is_set():
                    self._write()
                    self._over.wait(_PAUSE_SECONDS)
                elif self._directory is not None:
                    os.utime(self._directory / self._entry.file_name)

    def _write(self) -> None:
        assert self._directory is not None
        self._entry = self._now()
        write_entry(self._directory, self._entry)

    def _now(self) -> JobEntry:
        """Describe the job as it is now."""
        history = self._history
        return msgspec.structs.replace(
            self._entry,
            status=history.status.name,
            ended=history.end_time,
            why=self._why(),
            restarts=history.restarts,
            checkpoint=self._checkpoint(),
            savepoint=self._savepoint,
        )

    def _why(self) -> str | None:
        if self._history.status in (JobStatus.FINISHED, JobStatus.CANCELED):
            return self._history.end_request
        failures = self._history.exceptions()
        return first_lines(failures[0].text) if failures else None

    def _checkpoint(self) -> KeptCheckpoint | None:
        if self._stored is None:
            return None
        checkpoint, time = self._stored
        if self._history.end_time is not None:
            path = kept_location(checkpoint.location)
            return None if path is None else KeptCheckpoint(id=checkpoint.checkpoint_id, time=time, path=path)
        return KeptCheckpoint(id=checkpoint.checkpoint_id, time=time, path=checkpoint.location.external_path)


def first_lines(text: str) -> str:
    """Cut a long text off after some lines: a traceback says the most at its beginning, here."""
    lines = text.strip().splitlines()
    cut = "\n".join(lines[:_LINES])
    return cut if cut == text.strip() and len(cut) <= _CHARACTERS else f"{cut[:_CHARACTERS].rstrip()} …"


class ArchiveObserver(JobObserver):
    """Let an archiver hear what happens to its job; of the start and the end the job master tells it itself."""

    def __init__(self, archiver: JobArchiver) -> None:
        self._archiver = archiver

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._archiver.note()

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._archiver.note_checkpoint(checkpoint)

    def savepoint_completed(self, location: str) -> None:
        self._archiver.note_savepoint(location)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._archiver.note()
