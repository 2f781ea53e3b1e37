"""What an attempt does to stop the job with a savepoint.

From the barrier of the savepoint on no epoch begins, so no record comes after it. A savepoint that fails leaves the job
as it was: epochs go on, or, if the sources had been told to end, the job goes back to its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from rekindle.exceptions import StopFailedError
from rekindle.runtime.master.epoch_runner import EpochRunner
from rekindle.runtime.master.stopping import StopMode, Stopping, StopRequest


class AttemptStop:
    """Carry out the request in one attempt. The caller holds the attempt's lock.

    Args:
        stopping: The request.
        epochs: What is to be held.
        take: Takes the savepoint: is given the directory and whether it is the job's last checkpoint; returns its id
            and the future that has its location.
        show: Is told of the complete savepoint.
        cancel: Ends the attempt as cancelled.
        fail: Fails the attempt.
    """

    def __init__(
        self,
        stopping: Stopping,
        epochs: EpochRunner,
        take: Callable[[str, bool], tuple[int, Future[str]]],
        show: Callable[[str], None],
        cancel: Callable[[], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._stopping = stopping
        self._epochs = epochs
        self._take = take
        self._show = show
        self._cancel = cancel
        self._fail = fail
        self._request: StopRequest | None = None
        self._taken = False
        self._over = False

    @property
    def under_way(self) -> bool:
        """Tell whether the job is about to stop: it then takes no other checkpoint."""
        return self._request is not None

    def begin(self) -> None:
        """Begin, between two epochs, if somebody has asked for it."""
        if self._request is not None or not self._stopping.waiting:
            return
        self._request = self._stopping.begin()
        if self._request is None:
            return
        if self._request.mode is StopMode.DRAIN and not self._epochs.finished:
            self._epochs.drain()
        else:
            self._epochs.hold()
            self._take_once()

    def input_ended(self) -> None:
        """Take the savepoint in place of the last checkpoint, if somebody has asked for one: there is no more input."""
        if self._request is None:
            self.begin()
        else:
            self._take_once()

    def _take_once(self) -> None:
        if self._request is not None and not self._taken:
            self._taken = True
            number, future = self._take(self._request.directory, self._request.mode is not StopMode.CANCEL)
            future.add_done_callback(lambda done: self._ended(number, done))

    def attempt_ended(self, failure: BaseException | None) -> None:
        """Leave the rest to the next attempt, if there is one."""
        self._over = True
        if failure is not None and self._request is not None and self._stopping.waiting:
            self._stopping.interrupted(str(failure))

    def _ended(self, checkpoint_id: int, done: Future[str]) -> None:
        error = done.exception()
        if error is None:
            self._stopping.completed(checkpoint_id, done.result())
            if self._stopping.cancels:
                self._cancel()
            self._show(done.result())
        elif not self._over:
            if self._epochs.draining:  # and it stays under way: nothing of this attempt is to be committed
                self._stopping.failed(str(error), "goes back to its last checkpoint, if it may be restarted")
                self._fail(
                    StopFailedError(f"{error}. All sources had been ended for it: the job goes back to its checkpoint")
                )
            else:
                self._stopping.failed(str(error))
                self._request, self._taken = None, False
                self._epochs.release()
