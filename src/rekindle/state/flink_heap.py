"""A binary heap that leaves equal entries in the order in which Flink's leaves them.

Flink's timers of one timestamp fire in an order that nothing promises, but that is always the same: the one in which
its heap gives them out. A program with few timers gives its results in Flink's order when its timers are in this heap.
It is slower than ``heapq``, whose ties come out otherwise.

Entries are tuples; the first field of each is what they are ordered by.
"""

from __future__ import annotations

from typing import Any

Entry = tuple[Any, ...]


def push(heap: list[Any], entry: Entry) -> None:
    """Add an entry."""
    heap.append(entry)
    _sift_up(heap, len(heap) - 1)


def pop(heap: list[Any]) -> Any:
    """Take the least entry."""
    return remove(heap, 0)


def remove(heap: list[Any], index: int) -> Any:
    """Take the entry at an index; the last one takes its place, and moves from there."""
    last = heap.pop()
    if index == len(heap):
        return last
    removed, heap[index] = heap[index], last
    _sift_down(heap, index)
    if heap[index] is last:
        _sift_up(heap, index)
    return removed


def _sift_up(heap: list[Any], index: int) -> None:
    entry = heap[index]
    while index and entry[0] < heap[(index - 1) // 2][0]:
        heap[index] = heap[(index - 1) // 2]
        index = (index - 1) // 2
    heap[index] = entry


def _sift_down(heap: list[Any], index: int) -> None:
    entry, size = heap[index], len(heap)
    while (child := 2 * index + 1) < size:
        if child + 1 < size and heap[child + 1][0] < heap[child][0]:
            child += 1
        if not heap[child][0] < entry[0]:
            break
        heap[index] = heap[child]
        index = child
    heap[index] = entry
