"""The request to stop a job with a savepoint: how the job is to end, who waits for it, what has become of it.

It outlives attempts: one that fails before the savepoint is complete leaves it to the next. If one fails after that,
the next restores the savepoint, which commits what is in it, and the job is over. What is to be done is in
``attempt_machine``.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum

from rekindle.exceptions import StopFailedError

_TRIES = 3  # how many attempts of the job may end in the middle of it


class StopMode(Enum):
    """Say how a job ends; the value names it in messages."""

    SUSPEND = "stop"
    """After the barrier nothing is processed. The savepoint is the job's last checkpoint: sinks commit."""

    DRAIN = "stop with drain"
    """All sources end first, and with them event time: all windows and timers fire. Else as above."""

    CANCEL = "cancel"
    """After the barrier nothing is processed. Sinks do not commit: whoever starts from the savepoint does that."""


@dataclass(slots=True)
class StopRequest:
    """Ask for the end of a job.

    Attributes:
        mode: How it ends.
        directory: Below which the savepoint goes.
        future: Gets the savepoint's location when the job has ended, or the reason why it has not.
        tries: How many attempts of the job have begun with it.
        checkpoint_id: The savepoint, once it is complete.
        location: Where that is.
    """

    mode: StopMode
    directory: str
    future: Future[str] = field(default_factory=Future)
    tries: int = 0
    checkpoint_id: int | None = None
    location: str | None = None

    def give_up(self, reason: str, then: str = "goes on") -> None:
        """Tell whoever waits why the job was not stopped, and what it does instead."""
        self.future.set_exception(StopFailedError(f"the job was not stopped, and {then}: {reason}"))


class Stopping:
    """Keep the request to stop a job, over all its attempts. There is one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._request: StopRequest | None = None
        self._over: str | None = None

    def request(self, mode: StopMode, directory: str) -> Future[str]:
        """Ask for it; the future says at once if somebody else has, or if the job has ended."""
        request = StopRequest(mode, directory)
        with self._lock:
            current = self._request
            if self._over is not None:
                problem = f"the job had ended ({self._over}) before it could be stopped: no savepoint was taken"
            elif current is not None and not current.future.cancelled():
                problem = (
                    f"the job is being stopped already ({current.mode.value}, with a savepoint below "
                    f"{current.directory}): wait for that, or cancel the job"
                )
            else:
                self._request = request
                return request.future
        request.future.set_exception(StopFailedError(problem))
        return request.future

    def begin(self) -> StopRequest | None:
        """Return the request that an attempt is to carry out now, if there is one."""
        with self._lock:
            request = self._request
            if request is None or request.location is not None:
                return None
            if not request.future.running() and not request.future.set_running_or_notify_cancel():
                self._request = None  # the user has thought better of it
                return None
            request.tries += 1
            return request

    @property
    def waiting(self) -> bool:
        """Return whether there is a request without a complete savepoint."""
        return self._request is not None and self._request.location is None

    def completed(self, checkpoint_id: int, location: str) -> None:
        """Learn that the savepoint is complete; the job has yet to end."""
        assert self._request is not None
        self._request.checkpoint_id, self._request.location = checkpoint_id, location

    def withdraw(self) -> StopRequest | None:
        """Forget the request: it has failed, and another may come. Return it, so that whoever waits is told."""
        with self._lock:
            request, self._request = self._request, None
        return request

    def failed(self, reason: str) -> None:
        """Give the request up, and say why."""
        request = self.withdraw()
        if request is not None:
            request.give_up(reason)

    def interrupted(self, reason: str) -> None:
        """Learn that an attempt has failed in the middle of it: the next one tries again, but not for ever."""
        if self._request is not None and self._request.tries >= _TRIES:
            self.failed(f"{_TRIES} attempts to run it failed while it was being stopped, the last one by: {reason}")

    def ends_with(self, checkpoint_id: int | None) -> bool:
        """Return whether the job is over once this checkpoint is restored, and so committed: it was stopped with it."""
        request = self._request
        if request is None or request.checkpoint_id is None:
            return False
        if request.checkpoint_id != checkpoint_id:
            self.failed(f"its savepoint {request.location} could not be read, and an earlier checkpoint was restored")
            return False
        return True

    @property
    def cancels(self) -> bool:
        """Return whether the job is to be cancelled now, its savepoint being complete."""
        request = self._request
        return request is not None and request.mode is StopMode.CANCEL and request.location is not None

    @property
    def savepoint(self) -> str | None:
        """Return the complete savepoint that the job ends with."""
        request = self._request
        return None if request is None else request.location

    def job_ended(self, how: str) -> None:
        """Hand over the savepoint that the job has ended with, or say why there is none; turn away who comes later."""
        with self._lock:
            self._over = how
            request, self._request = self._request, None
        if request is None or not (request.future.running() or request.future.set_running_or_notify_cancel()):
            return
        if request.location is None:
            problem = f"the job ended ({how}) before it could be stopped: no savepoint was taken"
        elif how == ("CANCELED" if request.mode is StopMode.CANCEL else "FINISHED"):
            request.future.set_result(request.location)
            return
        else:
            problem = (
                f"savepoint {request.location} is complete, but the job ended ({how}) before all output in it was "
                "committed: start a job from it, which commits it"
            )
        request.future.set_exception(StopFailedError(problem))
