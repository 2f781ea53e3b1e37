"""The thread in which epochs of the in-process cluster begin, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rekindle.exceptions import JobExecutionError

_STOP_SECONDS = 5.0  # for user code that does not return


class InProcessEpochLoop:
    """Run epochs as they are asked for, see :class:`rekindle.runtime.master.cluster.EpochDriver`.

    Args:
        run_epoch: Runs an epoch, given its number. They are counted from 1.
    """

    def __init__(self, run_epoch: Callable[[int], None]) -> None:
        self._run_epoch = run_epoch
        self._changed = threading.Condition()
        self._asked = False
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="epochs")
        self._thread.start()

    def tick(self) -> None:
        """Ask for an epoch."""
        with self._changed:
            self._asked = True
            self._changed.notify_all()

    @property
    def active(self) -> bool:
        """Return whether there may be more epochs."""
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        """Return whether the epoch under way is not wanted any more."""
        return self._stopped

    @property
    def error(self) -> BaseException:
        """Return why there will be no more."""
        return self._error or JobExecutionError("the epochs of this job have ended")

    def stop(self) -> None:
        """Cut off the epoch under way at its next task, and wait for it; not for ever, if user code does not return."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            epoch = 0
            while self._is_asked():
                epoch += 1
                self._run_epoch(epoch)
        except BaseException as error:
            self._error = error

    def _is_asked(self) -> bool:
        """Wait for somebody to ask; tell whether the loop goes on."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked or self._stopped)
            self._asked = False
            return not self._stopped
