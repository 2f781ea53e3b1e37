"""How operator state is dealt out when a job is restored, at the same parallelism or another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemRange:
    """Name the items ``start`` to ``stop`` (not included) of the list that an old subtask wrote."""

    old_subtask: int
    start: int
    stop: int


def even_split(counts: list[int], parallelism: int, first_extra: int = 0) -> tuple[list[list[ItemRange]], int]:
    """Deal out a list state.

    Unchanged parallelism: each subtask gets its own list back. Changed: the lists are concatenated in subtask order,
    everybody gets ``total // parallelism`` items, and ``total % parallelism`` subtasks one more, beginning with
    ``first_extra``.

    Args:
        counts: Items per old subtask.
        parallelism: The new number of subtasks.
        first_extra: The first subtask to get one more.

    Returns:
        For each new subtask the ranges it gets, and ``first_extra`` for the operator's next state.
    """
    if len(counts) == parallelism:
        return [[ItemRange(i, 0, count)] if count else [] for i, count in enumerate(counts)], first_extra
    share, extra = divmod(sum(counts), parallelism)
    extras = {(first_extra + i) % parallelism for i in range(extra)}
    result: list[list[ItemRange]] = []
    old, offset = 0, 0
    for subtask in range(parallelism):
        wanted = share + (subtask in extras)
        ranges: list[ItemRange] = []
        while wanted:
            taken = min(wanted, counts[old] - offset)
            if taken:
                ranges.append(ItemRange(old, offset, offset + taken))
            wanted -= taken
            offset += taken
            if offset == counts[old] and old + 1 < len(counts):
                old, offset = old + 1, 0
        result.append(ranges)
    return result, (first_extra + extra) % parallelism


def union(counts: list[int]) -> list[ItemRange]:
    """Give every subtask the whole concatenation."""
    return [ItemRange(i, 0, count) for i, count in enumerate(counts) if count]
