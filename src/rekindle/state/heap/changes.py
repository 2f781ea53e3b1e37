"""What changed in one state since a snapshot: noted by the handles, read when the next snapshot is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class StateChanges:
    """Collect changes. The collections are filled by the state's handles directly.

    Attributes:
        keys: Keys whose entry was set, replaced or removed as a whole.
        starts: For lists that only grew: from which element on they are new.
        map_entries: Single entries of maps that were set or removed, as (key, map key).
    """

    __slots__ = ("keys", "map_entries", "starts")

    def __init__(self) -> None:
        self.keys: set[Any] = set()
        self.starts: dict[Any, int] = {}
        self.map_entries: set[tuple[Any, Any]] = set()

    def of_whole_entries(self) -> StateChanges:
        """Return the same changes as if every entry had been replaced as a whole."""
        whole = StateChanges()
        whole.keys.update(self.keys, self.starts, (key for key, _ in self.map_entries))
        return whole

    def __len__(self) -> int:
        return len(self.keys) + len(self.starts) + len(self.map_entries)


def union(parts: Iterable[StateChanges]) -> StateChanges:
    """Return the changes of several stretches of time that follow each other as those of the whole time."""
    whole = StateChanges()
    for part in parts:
        whole.keys |= part.keys
        whole.map_entries |= part.map_entries
        for key, start in part.starts.items():
            whole.starts[key] = min(start, whole.starts.get(key, start))
    return whole
