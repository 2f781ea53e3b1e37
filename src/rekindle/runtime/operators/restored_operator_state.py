"""What an operator finds when it is opened: its part of the checkpoint that the job goes on from."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import StoredList


@dataclass(frozen=True, slots=True)
class RestoredOperatorState:
    """Hold what was restored for an operator in a subtask, besides what its keyed backend holds.

    Attributes:
        checkpoint_id: The checkpoint that the job goes on from; None: it starts anew.
        known: Whether that checkpoint knows the operator.
        timers: The blocks of its timers.
        raw: The bytes it wrote itself, by key group.
        lists: Its list states, by name.
    """

    checkpoint_id: int | None = None
    known: bool = False
    timers: list[KeyGroupBlock] = field(default_factory=list)
    raw: list[tuple[int, bytes]] = field(default_factory=list)
    lists: dict[str, StoredList] = field(default_factory=dict)

    def items(self, name: str) -> list[bytes]:
        """Return the items of a list state that the operator keeps itself."""
        stored = self.lists.get(name)
        return [] if stored is None else stored.items
