"""Keeps the record of a running job up to date: when something happens, but not too often, and now and then anyway.

No thread of the job waits for the storage but at its end: when the job's result is there, so is the last version, and
nothing is written any more. A record that cannot be written is a line in the log, once.
"""

from __future__ import annotations

import logging
import threading

from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import RekindleError
from rekindle.rest.job_record import DIRECTORY, RecordName, delete_record, record_names, record_of, write_record
from rekindle.runtime.master.running_jobs import RegisteredJob

log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
PERIOD_SECONDS = 30.0
_PATIENCE_SECONDS = 5.0


class JobRecorder:
    """Write down what becomes of one job, until it has ended.

    Args:
        job: The job.
        files: Where its checkpoints are.
        kept: How many jobs are to have a record there.
        pause: How many seconds lie between two versions at least, but for the last one.
        period: After how many seconds another is written though nothing has happened.
    """

    def __init__(
        self,
        job: RegisteredJob,
        files: CheckpointFiles,
        kept: int,
        pause: float = PAUSE_SECONDS,
        period: float = PERIOD_SECONDS,
    ) -> None:
        self._job = job
        self._files = files
        self._kept = kept
        self._pause = pause
        self._period = period
        self._news = threading.Event()
        self._over = threading.Event()
        self._warned = False
        self._name: RecordName | None = None
        self._thread = threading.Thread(target=self._keep, name="job-record", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._job.history.listen(self._news.set)
        self._thread.start()
        self._job.at_end(self._finish)

    def _finish(self) -> None:
        """Write the last version; return when nothing is being written any more, however long the storage takes."""
        self._over.set()
        self._news.set()
        self._thread.join(_PATIENCE_SECONDS)
        if self._thread.is_alive():
            log.warning("the end of job %s waits for its record in %s to be written", self._job.job_id, self._place())
            self._thread.join()

    def _place(self) -> str:
        return self._files.describe(DIRECTORY)

    def _keep(self) -> None:
        over = False
        while not over:
            over = self._over.is_set()
            self._news.clear()
            self._write()
            if not over and not self._over.wait(self._pause):
                self._news.wait(self._period - self._pause)

    def _write(self) -> None:
        try:
            before = self._before()
            started = self._job.history.start_time
            name = RecordName(started, self._job.job_id, 1 if before is None else before.number + 1)
            write_record(self._files, name, record_of(self._job))
            self._name = name
            if before is not None:
                delete_record(self._files, before)
        except Exception as error:
            if not self._warned:
                level = logging.WARNING if isinstance(error, RekindleError) else logging.ERROR
                log.log(level, "job %r has no up-to-date record for its history: %s", self._job.job_id, error)
            self._warned = True

    def _before(self) -> RecordName | None:
        """Return the last version, of an earlier driver at first; then also forget the jobs that are one too many."""
        if self._name is not None:
            return self._name
        names = record_names(self._files)
        own = [name for name in names if name.job_id == self._job.job_id]
        jobs = dict.fromkeys(name.job_id for name in names if name.job_id != self._job.job_id)
        forgotten = set(list(jobs)[: max(0, len(jobs) - self._kept + 1)])
        for name in (*(name for name in names if name.job_id in forgotten), *own[:-1]):
            delete_record(self._files, name)
        return own[-1] if own else None


def keep_record(job: RegisteredJob) -> None:
    """Keep a record of a job beside its checkpoints; nothing if it has none in files, or no record is wanted."""
    settings = job.settings
    if settings.checkpoint_files is not None and settings.history_jobs:
        JobRecorder(job, settings.checkpoint_files, settings.history_jobs).start()
