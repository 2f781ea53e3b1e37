"""Timers of one keyed operator in one subtask: a heap per time domain, each timer kept once."""

from __future__ import annotations

import heapq
import itertools
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyGroupBlock


class TimerQueue:
    """Keep the timers of one time domain; the same (key, timestamp) is one timer."""

    __slots__ = ("_heap", "_live", "_sequence", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._heap: list[tuple[int, int, Any]] = []
        self._live: set[tuple[Any, int]] = set()
        self._sequence = itertools.count()  # ties fire in the order of registration, and keys need no ordering

    def register(self, key: Any, timestamp: int) -> None:
        """Add a timer unless it is there already."""
        timer = (key, timestamp)
        if timer not in self._live:
            self._live.add(timer)
            heapq.heappush(self._heap, (timestamp, next(self._sequence), key))

    def delete(self, key: Any, timestamp: int) -> None:
        """Remove a timer if it is there."""
        self._live.discard((key, timestamp))

    def pop_due(self, until: int) -> tuple[Any, int] | None:
        """Take the earliest timer that is due at ``until``, as (key, timestamp)."""
        while self._heap and self._heap[0][0] <= until:
            timestamp, _, key = heapq.heappop(self._heap)
            if (key, timestamp) in self._live:
                self._live.discard((key, timestamp))
                return key, timestamp
        return None

    def next_timestamp(self) -> int | None:
        """Tell when the earliest timer is due."""
        while self._heap:
            timestamp, _, key = self._heap[0]
            if (key, timestamp) in self._live:
                return timestamp
            heapq.heappop(self._heap)
        return None

    def __len__(self) -> int:
        return len(self._live)

    def snapshot_blocks(self, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        """Encode all timers, a block per key group."""
        groups: dict[int, list[tuple[Any, int]]] = {}
        for timestamp, _, key in sorted(self._heap, key=lambda entry: entry[:2]):
            if (key, timestamp) in self._live:
                groups.setdefault(key_group_of(key, max_parallelism), []).append((key, timestamp))
        for key_group, timers in groups.items():
            yield KeyGroupBlock(self.name, "timers", key_group, len(timers), pickle.dumps(timers, 5))

    def restore_blocks(self, blocks: Iterable[KeyGroupBlock]) -> None:
        """Take over the timers of blocks written by :meth:`snapshot_blocks`."""
        for block in blocks:
            for key, timestamp in pickle.loads(block.data):
                self.register(key, timestamp)
