"""Records on their way to ``execute_and_collect``: shown once, in spite of restarts.

With checkpoints, records become visible when the checkpoint after them is complete, and those of a failed attempt are
dropped: they come again. In a batch job they become visible at its end. Otherwise they are visible at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from rekindle.runtime.operators.sinks import unpickle_collected

_END = object()


class CollectedRecords:
    """Hand records from the job's threads to the iterating one.

    Attributes:
        held_back: Whether records become visible only with a checkpoint, or the end; set before the first one.
    """

    def __init__(self, held_back: bool = False) -> None:
        self.held_back = held_back
        self._pending: dict[int, list[bytes]] = {}  # by the last checkpoint triggered before they came
        self._barrier = 0
        self._lock = threading.Lock()  # slots are heard in several threads
        self._visible: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def add(self, data: bytes) -> None:
        """Take records from a slot."""
        if not self.held_back:
            self._visible.put(data)
            return
        with self._lock:
            self._pending.setdefault(self._barrier, []).append(data)

    def barrier(self, checkpoint_id: int) -> None:
        """Note that what comes now is after a checkpoint's barrier."""
        with self._lock:
            self._barrier = checkpoint_id

    def completed(self, checkpoint_id: int) -> None:
        """Show what came before a checkpoint's barrier."""
        with self._lock:
            for barrier in sorted(barrier for barrier in self._pending if barrier < checkpoint_id):
                for data in self._pending.pop(barrier):
                    self._visible.put(data)

    def rewind(self) -> None:
        """Drop what came after the last completed checkpoint."""
        with self._lock:
            self._pending.clear()

    def end(self, error: BaseException | None) -> None:
        """End the iteration."""
        self._visible.put((_END, error))

    def __iter__(self) -> Iterator[Any]:
        while True:
            item = self._visible.get()
            if isinstance(item, tuple):
                if item[1] is not None:
                    raise item[1]
                return
            yield from unpickle_collected(item)
