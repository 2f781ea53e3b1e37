"""Keyed state in plain dicts, simple enough to be right: what a backend is compared with.

Whatever a state keeps for a key is a dict of parts, each with its last access: a value or an accumulator has one part,
a list one per element, a map one per entry. That leaves one rule of time-to-live for all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rekindle.base.time import Time
from rekindle.contracts.state import StateTtlConfig

_ONLY_PART = 0


@dataclass(frozen=True, slots=True)
class TtlChoice:
    """Choose a time-to-live.

    Attributes:
        millis: How long a value lives after its last access.
        on_read: Whether reading is an access.
        return_expired: Whether what has expired is returned once. Then nothing but reading removes it: whether clean-up
            is faster than a read is nothing to compare.
        cleanup: What removes it besides reading: none, background, incremental, compaction.
        cleanup_in_snapshots: Whether full snapshots leave it out.
    """

    millis: int
    on_read: bool = False
    return_expired: bool = False
    cleanup: str = "none"
    cleanup_in_snapshots: bool = False

    def config(self) -> StateTtlConfig:
        """Return it as descriptors take it."""
        builder = StateTtlConfig.new_builder(Time.milliseconds(self.millis))
        if self.on_read:
            builder.update_ttl_on_read_and_write()
        if self.return_expired:
            return builder.return_expired_if_not_cleaned_up().disable_cleanup_in_background().build()
        if self.cleanup != "background":
            builder.disable_cleanup_in_background()
        if self.cleanup == "incremental":
            builder.cleanup_incrementally(2, True)
        elif self.cleanup == "compaction":
            builder.cleanup_in_rocksdb_compact_filter(1)
        if self.cleanup_in_snapshots:
            builder.cleanup_full_snapshot()
        return builder.build()


class StateModel:
    """Hold some states of all keys.

    Attributes:
        ttl: The time-to-live of the states in ``expiring``; None while they do not expire.
    """

    def __init__(self, now: Callable[[], int], expiring: Iterable[str], ttl: TtlChoice | None) -> None:
        """Begin with nothing.

        Args:
            now: Tells the time.
            expiring: The names of the states that ``ttl`` applies to.
            ttl: Their time-to-live.
        """
        self.ttl = ttl
        self._now = now
        self._expiring = frozenset(expiring)
        self._cells: dict[tuple[str, Any], dict[Any, tuple[Any, int]]] = {}
        self._parts_made = 0

    def copy(self) -> StateModel:
        """Return a model that holds the same and goes its own way."""
        copied = StateModel(self._now, self._expiring, self.ttl)
        copied._cells = copy.deepcopy(self._cells)
        copied._parts_made = self._parts_made
        return copied

    def change_ttl(self, ttl: TtlChoice | None) -> None:
        """Let other rules hold; what did not expire so far counts as just written."""
        if self.ttl is None:
            for (state, _), cell in self._cells.items():
                if state in self._expiring:
                    cell.update({part: (value, self._now()) for part, (value, _) in cell.items()})
        self.ttl = ttl

    def keys(self, state: str) -> set[Any]:
        """Return the keys for which a state holds anything."""
        return {key for name, key in self._cells if name == state}

    def clear(self, state: str, key: Any) -> None:
        """Remove everything a state holds for a key."""
        self._cells.pop((state, key), None)

    # --- parts: what all kinds of state are made of ---

    def _read(self, state: str, key: Any, parts: Iterable[Any] | None = None) -> dict[Any, Any]:
        """Return what is visible of some parts, or of all, with all that reading brings about."""
        cell = self._cells.get((state, key), {})
        seen = {}
        for part in list(cell) if parts is None else [part for part in parts if part in cell]:
            value, last_access = cell[part]
            if self._expired(state, last_access):
                del cell[part]
                if self.ttl is None or not self.ttl.return_expired:
                    continue
            elif self.ttl is not None and self.ttl.on_read:
                cell[part] = value, self._now()
            seen[part] = value
        if not cell:
            self.clear(state, key)
        return seen

    def _write(self, state: str, key: Any, parts: dict[Any, Any]) -> None:
        if parts:
            cell = self._cells.setdefault((state, key), {})
            cell.update({part: (value, self._now()) for part, value in parts.items()})

    def _expired(self, state: str, last_access: int) -> bool:
        return state in self._expiring and self.ttl is not None and self._now() >= last_access + self.ttl.millis

    # --- values and accumulators ---

    def value(self, state: str, key: Any) -> Any:
        """Read the value, None if there is none."""
        return self._read(state, key).get(_ONLY_PART)

    def update(self, state: str, key: Any, value: Any) -> None:
        """Set the value; None clears."""
        self.clear(state, key)
        if value is not None:
            self._write(state, key, {_ONLY_PART: value})

    # --- lists ---

    def elements(self, state: str, key: Any) -> list[Any]:
        """Read the list."""
        return list(self._read(state, key).values())

    def add_all(self, state: str, key: Any, elements: list[Any]) -> None:
        """Append to the list."""
        first = self._parts_made
        self._parts_made += len(elements)
        self._write(state, key, dict(enumerate(elements, first)))

    # --- maps ---

    def entries(self, state: str, key: Any) -> dict[Any, Any]:
        """Read the whole map."""
        return self._read(state, key)

    def entry(self, state: str, key: Any, map_key: Any) -> dict[Any, Any]:
        """Read one entry: a map with it, or without it."""
        return self._read(state, key, [map_key])

    def put_all(self, state: str, key: Any, entries: dict[Any, Any]) -> None:
        """Set entries of the map."""
        self._write(state, key, entries)

    def remove(self, state: str, key: Any, map_key: Any) -> None:
        """Remove an entry of the map."""
        cell = self._cells.get((state, key), {})
        cell.pop(map_key, None)
        if not cell:
            self.clear(state, key)

    def is_empty(self, state: str, key: Any) -> bool:
        """Return whether the map would give nothing if it was read; without reading it."""
        return not self.copy().entries(state, key)
