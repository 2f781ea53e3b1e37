"""Operator state as it travels: a named list of items, each of them bytes, and how they are dealt out at a restore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class DistributionMode(StrEnum):
    """Say who gets which items when a job is restored."""

    SPLIT = "split"
    """Each item goes to one subtask, and they are dealt out evenly."""

    UNION = "union"
    """All items go to all subtasks."""

    OWNER = "owner"
    """All items of a subtask go to one subtask, that with its number, counted round."""

    BROADCAST = "broadcast"
    """There is one item per subtask, a copy of the same thing, and each subtask gets one of the copies."""


@dataclass(frozen=True, slots=True)
class StoredItems:
    """Hold items that were written alike.

    Attributes:
        items: The items.
        serializers: The snapshots of the serializers that wrote them; none where an operator wrote its own bytes.
    """

    items: tuple[bytes, ...]
    serializers: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredList:
    """Hold an operator state, or one subtask's share of it.

    Items that old subtasks wrote with different serializers stand in different parts.

    Attributes:
        mode: Who gets which items at a restore.
        parts: The items, in their order.
    """

    mode: DistributionMode
    parts: tuple[StoredItems, ...] = ()

    @classmethod
    def of(cls, mode: DistributionMode, items: Iterable[bytes], serializers: tuple[bytes, ...] = ()) -> StoredList:
        """Make a list of items that were all written alike."""
        return cls.joined(mode, [StoredItems(tuple(items), serializers)])

    @classmethod
    def joined(cls, mode: DistributionMode, parts: Iterable[StoredItems]) -> StoredList:
        """String parts together; neighbours that were written alike become one."""
        joined: list[StoredItems] = []
        for part in parts:
            if not part.items:
                continue
            if joined and joined[-1].serializers == part.serializers:
                part = StoredItems(joined.pop().items + part.items, part.serializers)
            joined.append(part)
        return cls(mode, tuple(joined))

    @property
    def items(self) -> list[bytes]:
        """Return all items."""
        return [item for part in self.parts for item in part.items]

    def __len__(self) -> int:
        return sum(len(part.items) for part in self.parts)

    def cut(self, start: int, stop: int) -> Iterator[StoredItems]:
        """Yield the items ``start`` to ``stop`` (not included), with how they were written."""
        for part in self.parts:
            if start < len(part.items) and stop > 0:
                yield StoredItems(part.items[max(start, 0) : stop], part.serializers)
            start -= len(part.items)
            stop -= len(part.items)
