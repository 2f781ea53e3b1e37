"""The thread that does the I/O of a job's checkpoints: one thing after the other, in the order of the orders.

So nobody who decides waits for a storage, and metadata, entries of the job's log and deletions still follow each other.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rekindle.exceptions import RekindleError
from rekindle.runtime.master.checkpoints.storage_orders import StorageOutcome

log = logging.getLogger(__name__)

Work = Callable[[], StorageOutcome | None]
Tell = Callable[[StorageOutcome], None]
Fail = Callable[[BaseException], None]


@dataclass(frozen=True, slots=True)
class _Order:
    work: Work
    tell: Tell
    fail: Fail
    given_up: StorageOutcome | None


class CheckpointIO:
    """Do the I/O of one job, over all its attempts.

    Args:
        name: The name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._changed = threading.Condition()
        self._orders: deque[_Order] = deque()
        self._busy = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def order(self, work: Work, tell: Tell, fail: Fail, given_up: StorageOutcome | None = None) -> None:
        """Have something done after all that was ordered before.

        Args:
            work: Does it, and returns the outcome if there is one to be told.
            tell: Is told the outcome, from the thread that does the work.
            fail: Is told what was raised instead.
            given_up: The outcome if it is not done at all, because its attempt ends first; None: it is always done.
        """
        with self._changed:
            self._orders.append(_Order(work, tell, fail, given_up))
            self._changed.notify_all()

    def settle(self) -> None:
        """Give up what need not be done and has not begun, and wait until the rest is done."""
        with self._changed:
            given_up = [order for order in self._orders if order.given_up is not None]
            self._orders = deque(order for order in self._orders if order.given_up is None)
        for order in given_up:
            if order.given_up is not None:
                order.tell(order.given_up)
        with self._changed:
            self._changed.wait_for(lambda: not self._orders and not self._busy)

    def close(self) -> None:
        """Do what has been ordered, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._orders or self._closed)
                if not self._orders:
                    return
                order = self._orders.popleft()
                self._busy = True
            try:
                outcome = order.work()
            except BaseException as error:
                if not isinstance(error, RekindleError):
                    log.exception("unexpected error while a checkpoint was being written or deleted; the attempt fails")
                order.fail(error)
            else:
                if outcome is not None:
                    order.tell(outcome)
