"""The savepoints that users ask for while a job runs: where each goes, and who waits for it.

A request waits for the end of an epoch; what it waits through, a restart for instance, does it no harm. Once its
savepoint is under way, it ends as that ends. One that is taken in passing is handed over when all slots have made safe
what it refers to: output that waits for a commit, which a job that goes back to an earlier checkpoint would remove.
What is decided about them is in ``attempt_machine``.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from rekindle.checkpoint import paths
from rekindle.checkpoint.settings.checkpoint_storage import checked_directory
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import CheckpointError, ConfigurationError
from rekindle.runtime.master.settings.job_settings import JobSettings


@dataclass(frozen=True, slots=True)
class SavepointRequest:
    """Ask for one savepoint.

    Attributes:
        location: The savepoint's own directory.
        future: Gets the location, or the reason why there is no savepoint.
    """

    location: str
    future: Future[str] = field(default_factory=Future)

    def open_files(self) -> CheckpointFiles:
        """Open the savepoint's directory, which may take a while."""
        return checkpoint_files(self.location)


class Savepoints:
    """Keep the requests of one job, over all its attempts."""

    def __init__(self, job_id: str, distinct: Callable[[], str] = lambda: uuid.uuid4().hex[-12:]) -> None:
        """Start without any.

        Args:
            job_id: The job.
            distinct: Makes up a part of a name that no other savepoint has.
        """
        self._job_id = job_id
        self._distinct = distinct
        self._lock = threading.Lock()
        self._waiting: deque[SavepointRequest] = deque()
        self._begun: dict[int, SavepointRequest] = {}  # also what has ended: an answer of a slot may still come
        self._over: str | None = None

    def request(self, directory: str) -> Future[str]:
        """Ask for a savepoint below a directory."""
        request = self._new(directory)
        with self._lock:
            over = self._over
            if over is None:
                self._waiting.append(request)
        if over is not None:
            request.future.set_exception(_too_late(over))
        return request.future

    @property
    def waiting(self) -> bool:
        """Return whether there is a request that has not begun."""
        return bool(self._waiting)

    def begin(self, checkpoint_id: int) -> bool:
        """Let the request that has waited longest be the savepoint with this id; say whether there is one."""
        with self._lock:
            while self._waiting:
                request = self._waiting.popleft()
                if request.future.set_running_or_notify_cancel():  # not if the user has thought better of it
                    self._begun[checkpoint_id] = request
                    return True
        return False

    def begin_now(self, checkpoint_id: int, directory: str) -> Future[str]:
        """Let the savepoint with this id go below a directory, before all that wait."""
        request = self._new(directory)
        request.future.set_running_or_notify_cancel()
        with self._lock:
            self._begun[checkpoint_id] = request
        return request.future

    def find(self, checkpoint_id: int) -> SavepointRequest | None:
        """Return the request that a checkpoint was taken for; None: it is no savepoint that was asked for."""
        return self._begun.get(checkpoint_id)

    def completed(self, checkpoint_id: int) -> None:
        """Hand over a savepoint that is complete."""
        request = self._begun.get(checkpoint_id)
        if request is not None:
            request.future.set_result(request.location)

    def failed(self, checkpoint_id: int, reason: str) -> None:
        """Say why there is no savepoint."""
        request = self._begun.get(checkpoint_id)
        if request is not None and not request.future.done():
            request.future.set_exception(CheckpointError(reason))

    def _new(self, directory: str) -> SavepointRequest:
        return SavepointRequest(paths.join(directory, paths.savepoint_directory(self._job_id, self._distinct())))

    def job_ended(self, how: str) -> None:
        """Turn away who still waits, and who comes later."""
        with self._lock:
            self._over = how
            waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            if request.future.set_running_or_notify_cancel():
                request.future.set_exception(_too_late(how))
        for checkpoint_id, request in self._begun.items():
            if not request.future.done():
                self.failed(checkpoint_id, f"the job ended ({how}) before the savepoint was complete")


def savepoint_directory(settings: JobSettings, directory: str | None) -> str:
    """Settle where a savepoint goes.

    Args:
        settings: The job's.
        directory: What the user named; None: what the settings say.

    Raises:
        ConfigurationError: If neither says where, if there can be no such place, or if the job can have no savepoints.
    """
    if settings.batch:
        raise ConfigurationError(
            f"job {settings.job_name!r} runs as a batch, of which there are no savepoints: set "
            "execution.runtime-mode to STREAMING"
        )
    directory = directory or settings.savepoint_directory
    if directory is None:
        raise ConfigurationError(
            "a savepoint needs a directory, and none is configured: name one, or set state.savepoints.dir"
        )
    directory = checked_directory(directory, "savepoint directory")
    checkpoint_files(directory)  # so that whoever asks hears of a scheme that nobody knows
    return directory


def _too_late(how: str) -> CheckpointError:
    return CheckpointError(f"no savepoint was taken: the job had ended ({how}) before one could begin")
