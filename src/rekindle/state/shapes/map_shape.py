"""A map of entries per key, whose values may be None. A change is a :class:`MapChange`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from rekindle.state.shapes.state_shape import FlatChanges, FlatValues, StateShape, check_lengths


class MapChange(NamedTuple):
    """Say what became of one key's map: emptied first or not, then entries set and removed."""

    cleared: bool
    put: dict[Any, Any]
    removed: list[Any]


class MapShape(StateShape):
    """Keep a map per key."""

    several = True
    has_map_keys = True

    def with_last_access(self, value: Any, now: int) -> dict[Any, tuple[Any, int]]:
        return {key: (entry, now) for key, entry in value.items()}

    def split(self, value: Any) -> tuple[dict[Any, Any], dict[Any, int]]:
        entries = {key: entry for key, (entry, _) in value.items()}
        return entries, {key: last_access for key, (_, last_access) in value.items()}

    def unexpired(self, value: Any, threshold: int) -> dict[Any, Any] | None:
        return {key: pair for key, pair in value.items() if pair[1] > threshold} or None

    def flat(self, values: list[Any]) -> FlatValues:
        row = list(chain.from_iterable(mapping.values() for mapping in values))
        return FlatValues(row, list(map(len, values)), list(chain.from_iterable(values)))

    def gathered(self, flat: FlatValues) -> list[Any]:
        check_lengths(flat)
        row, keys = iter(flat.values), iter(flat.map_keys)
        maps = [dict(zip(islice(keys, length), islice(row, length), strict=True)) for length in flat.lengths]
        if sum(map(len, maps)) < len(flat.values):
            raise ValueError("two keys of a map have become one: they lost what told them apart")
        return maps

    def replacement(self, value: Any) -> MapChange:
        return MapChange(True, value, [])

    def change_with_last_access(self, change: Any, now: int) -> MapChange:
        cleared, put, removed = change
        return MapChange(cleared, self.with_last_access(put, now), removed)

    def flat_changes(self, changes: list[Any]) -> FlatChanges:
        return FlatChanges(
            [change.put for change in changes],
            cleared=[change.cleared for change in changes],
            removed=[change.removed for change in changes],
        )

    def gathered_changes(self, flat: FlatChanges) -> list[Any]:
        return list(map(MapChange, flat.cleared, flat.values, flat.removed))

    def apply(self, entries: dict[Any, Any], keys: Sequence[Any], changes: Sequence[Any]) -> None:
        for key, (cleared, put, removed) in zip(keys, changes, strict=True):
            mapping = {} if cleared else entries.get(key, {})
            mapping.update(put)
            for entry in removed:
                mapping.pop(entry, None)
            if mapping:
                entries[key] = mapping
            else:
                entries.pop(key, None)


MAP_SHAPE = MapShape()
