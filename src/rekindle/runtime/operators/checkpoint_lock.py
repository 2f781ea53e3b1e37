"""The lock under which a source emits and advances its position as one step.

Two parties take it. The source's threads enter it with ``with``: if nothing may be emitted now, they wait at the
outermost entry, never inside. The slot claims it, to poll and to take snapshots, and then comes first, however busily
the source locks and unlocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, RLock

_SETTLING_SECONDS = 0.1


class SourceClosedError(BaseException):
    """End the thread of a source that was closed; no ``except Exception`` of the source's own keeps it alive."""


class CheckpointLock:
    """Exclude each other: the steps of a source, and the slot. Re-entrant.

    An exception that leaves the outermost block may have left a step half done. If it ends the source, the slot must
    not take a snapshot of that; so it waits a moment to learn of it.
    """

    def __init__(self, is_full: Callable[[], bool]) -> None:
        """Make a lock.

        Args:
            is_full: Tells whether a step of the source has to wait, because too much was emitted that nobody took.
        """
        self._is_full = is_full
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._depth = 0
        self._claimed = False  # the slot waits for the lock; only one thread of it does at a time
        self._unsettled = False
        self._closed = False

    def __enter__(self) -> CheckpointLock:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._unsettled = False
            if self._claimed or self._closed or self._is_full():
                self._wait()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._depth -= 1
        if kind is not None and self._depth == 0:
            self._unsettled = True
        self._lock.release()

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the lock as the slot: before the next step of the source, and whether there is room or not."""
        self._claimed = True
        with self._lock:
            self._claimed = False
            if self._unsettled:
                self._changed.wait_for(lambda: not self._unsettled, _SETTLING_SECONDS)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                self._changed.notify_all()

    @property
    def held(self) -> bool:
        """Whether somebody is in a step, as far as a thread can tell that may be in it itself."""
        return self._depth > 0

    def settle(self) -> None:
        """Say that the source has ended, and how is known."""
        with self._lock:
            self._unsettled = False
            self._changed.notify_all()

    def close(self, timeout: float) -> None:
        """Let every step end that has not begun; wait at most so many seconds for one that has."""
        self._closed = True
        if self._lock.acquire(timeout=timeout):
            self._changed.notify_all()
            self._lock.release()

    def _wait(self) -> None:
        """Let the slot go first, and take what was emitted."""
        self._depth = 0
        self._changed.wait_for(lambda: self._closed or not (self._claimed or self._is_full()))
        if self._closed:
            self._lock.release()
            raise SourceClosedError
        self._depth = 1
