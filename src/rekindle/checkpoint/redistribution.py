"""How operator state is dealt out when a job is restored, at the same parallelism or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.checkpoint.metadata import ListStateMetadata
from rekindle.state.operator_state.stored import DistributionMode


@dataclass(frozen=True, slots=True)
class ItemRange:
    """Name the items ``start`` to ``stop`` (not included) of the list that an old subtask wrote."""

    old_subtask: int
    start: int
    stop: int


def deal_out(states: Mapping[str, ListStateMetadata], parallelism: int, subtask: int) -> dict[str, list[ItemRange]]:
    """Return which items of each of an operator's states go to a subtask.

    Args:
        states: The states by name, in the order in which they are dealt out.
        parallelism: The new number of subtasks.
        subtask: The new subtask.
    """
    dealt: dict[str, list[ItemRange]] = {}
    first_extra = 0
    for name, state in states.items():
        match state.mode:
            case DistributionMode.SPLIT:
                shares, first_extra = even_split(state.counts, parallelism, first_extra)
                dealt[name] = shares[subtask]
            case DistributionMode.UNION:
                dealt[name] = union(state.counts)
            case DistributionMode.OWNER:
                dealt[name] = owned(state.counts, parallelism, subtask)
            case DistributionMode.BROADCAST:
                dealt[name] = broadcast(state.counts, subtask)
    return dealt


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


def owned(counts: list[int], parallelism: int, subtask: int) -> list[ItemRange]:
    """Return a subtask the lists of all old subtasks whose number is its own, counted round."""
    return [ItemRange(old, 0, counts[old]) for old in range(subtask, len(counts), parallelism) if counts[old]]


def broadcast(counts: list[int], subtask: int) -> list[ItemRange]:
    """Return a subtask the copy of one old subtask: of that with its own number, counted round."""
    old = subtask % len(counts)
    return [ItemRange(old, 0, counts[old])] if counts[old] else []
