"""A binary heap that leaves equal entries in the order in which Flink's leaves them.

Flink's timers of one timestamp fire in an order that nothing promises, but that is always the same: the one in which
its heap gives them out. A program with few timers gives its results in Flink's order when its timers are in this heap.
It is slower than ``heapq``, whose ties come out otherwise: so it is for tests, and for few timers.
"""

from __future__ import annotations

import heapq

from rekindle.state.timer_heap import Entry, TimerHeap

_FEW = 1_000  # up to so many at a time, and so many times ten in all, timers of one timestamp fire in Flink's order


def flink_timers() -> TimerHeap:
    """Let timers of one timestamp fire in Flink's order, as long as they are few, and then in that of registration."""
    heap = _FlinkHeap()
    return TimerHeap(heap.push, heap.pop, heap.remove)


class _FlinkHeap:
    """Keep a list as Flink's heap without deleted timers while there are few; then as one of ``heapq``."""

    def __init__(self) -> None:
        self._few = True

    def push(self, heap: list[Entry], entry: Entry) -> None:
        if self._few and len(heap) < _FEW and entry[1] < 10 * _FEW:
            push(heap, entry)
            return
        if self._few:
            self._few = False
            heap.sort()
        heapq.heappush(heap, entry)

    def pop(self, heap: list[Entry]) -> Entry:
        return remove(heap, 0) if self._few else heapq.heappop(heap)

    def remove(self, heap: list[Entry], entry: Entry) -> bool:
        if self._few:
            remove(heap, heap.index(entry))
        return self._few


def push(heap: list[Entry], entry: Entry) -> None:
    """Add an entry."""
    heap.append(entry)
    _sift_up(heap, len(heap) - 1)


def remove(heap: list[Entry], index: int) -> Entry:
    """Take the entry at an index; the last one takes its place, and moves from there."""
    last = heap.pop()
    if index == len(heap):
        return last
    removed, heap[index] = heap[index], last
    _sift_down(heap, index)
    if heap[index] is last:
        _sift_up(heap, index)
    return removed


def _sift_up(heap: list[Entry], index: int) -> None:
    entry = heap[index]
    while index and entry[0] < heap[(index - 1) // 2][0]:
        heap[index] = heap[(index - 1) // 2]
        index = (index - 1) // 2
    heap[index] = entry


def _sift_down(heap: list[Entry], index: int) -> None:
    entry, size = heap[index], len(heap)
    while (child := 2 * index + 1) < size:
        if child + 1 < size and heap[child + 1][0] < heap[child][0]:
            child += 1
        if not heap[child][0] < entry[0]:
            break
        heap[index] = heap[child]
        index = child
    heap[index] = entry
