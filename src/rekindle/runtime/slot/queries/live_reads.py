"""Reads of state between two chunks of records.

Who reads does not take the slot's lock from the task that processes records: reads wait in a queue, and whoever holds
the lock serves them when it is done with a chunk, for a share of the time that the chunk took. So readers, however
many, cost a bounded share of a slot's time. While no records come, a thread of its own takes the lock and serves them.
That thread also hands out what was read, which nobody has to wait for.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from rekindle.exceptions import NoStateOwnerError
from rekindle.state.queryable_state import StateBusyError

log = logging.getLogger(__name__)

SHARE = 8
"""Reads take at most one part in so many of the time of a chunk, or the least time below, whichever is more."""

_LEAST_SECONDS = 0.0003
_IDLE_SECONDS = 0.005  # for reads while no records come; a task that wants the lock waits no longer
LOOK_SECONDS = 0.01
"""How long to wait while somebody else has the lock, or the state is busy."""

_ENDING_SECONDS = 1.0


class Read(ABC):
    """Something to be read while nothing else runs in the slot."""

    @abstractmethod
    def step(self) -> bool:
        """Read a little, such as one key; return whether that was all.

        Raises:
            StateBusyError: Not now; the same step is taken again later.
        """

    @abstractmethod
    def finish(self) -> None:
        """Hand out what was read."""


class LiveReads:
    """Queue reads, and serve them while nothing else runs in the slot.

    Attributes:
        waiting: The reads that are to be served; whoever processes records looks whether there are any.

    Args:
        lock: The slot's lock, which is re-entrant.
    """

    def __init__(self, lock: Any) -> None:
        self.waiting: deque[Read] = deque()
        self._lock = lock
        self._finished: deque[Read] = deque()
        self._woken = threading.Event()
        self._closed = False
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, read: Read) -> None:
        """Have something read; from any thread.

        Raises:
            NoStateOwnerError: The slot has failed, or is being closed.
        """
        if self._closed:
            raise NoStateOwnerError("the slot that has the state is being closed: the job ends or restarts")
        self.waiting.append(read)
        if self._thread is None:
            self._start()
        self._woken.set()

    def after_chunk(self, seconds: float) -> None:
        """Serve reads for a share of the time that a chunk has taken. The slot's lock must be held."""
        self._serve(max(_LEAST_SECONDS, seconds / SHARE))
        self._woken.set()

    def end(self) -> None:
        """Serve nobody any more."""
        self._closed = True
        self._woken.set()
        self.waiting.clear()

    def close(self) -> None:
        """Serve nobody any more, and wait until nobody is being served."""
        with self._starting:
            self.end()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_ENDING_SECONDS)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, daemon=True, name="live reads")
                self._thread.start()

    def _serve(self, seconds: float) -> bool:
        """Take steps for some time, at least one; return whether any of the reads got on."""
        until = time.monotonic() + seconds
        busy: list[Read] = []
        got_on = False
        while self.waiting and not self._closed:
            try:
                read = self.waiting.popleft()
            except IndexError:
                break  # closed meanwhile
            try:
                over = read.step()
                got_on = True
            except StateBusyError:
                busy.append(read)
            except BaseException:  # whoever reads must not end the job
                log.exception("a read of state failed")
            else:
                if over:
                    self._finished.append(read)
                else:
                    self.waiting.appendleft(read)
            if time.monotonic() >= until:
                break
        self.waiting.extend(busy)
        return got_on

    # --- the thread ---

    def _run(self) -> None:
        while not self._closed:
            self._woken.wait(LOOK_SECONDS if self.waiting else None)
            self._woken.clear()
            self._hand_out()
            while self.waiting and not self._closed and self._lock.acquire(blocking=False):
                try:
                    got_on = self._serve(_IDLE_SECONDS)
                finally:
                    self._lock.release()
                self._hand_out()
                if not got_on:
                    break  # what is busy stays so for longer than a moment

    def _hand_out(self) -> None:
        while self._finished:
            try:
                self._finished.popleft().finish()
            except Exception:
                log.exception("the answer to a query could not be given")
