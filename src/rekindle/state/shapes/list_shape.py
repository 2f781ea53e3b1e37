"""A list of elements per key, none of them None. A change is ``(start, elements)``: the list is new from there on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from rekindle.state.shapes.state_shape import FlatChanges, FlatValues, StateShape, check_lengths


class ListShape(StateShape):
    """Keep a list per key."""

    several = True

    def with_last_access(self, value: Any, now: int) -> list[tuple[Any, int]]:
        return [(element, now) for element in value]

    def split(self, value: Any) -> tuple[list[Any], list[int]]:
        return [element for element, _ in value], [last_access for _, last_access in value]

    def unexpired(self, value: Any, threshold: int) -> list[Any] | None:
        return [pair for pair in value if pair[1] > threshold] or None

    def flat(self, values: list[Any]) -> FlatValues:
        return FlatValues(list(chain.from_iterable(values)), list(map(len, values)))

    def gathered(self, flat: FlatValues) -> list[Any]:
        check_lengths(flat)
        row = iter(flat.values)
        return [list(islice(row, length)) for length in flat.lengths]

    def replacement(self, value: Any) -> tuple[int, list[Any]]:
        return 0, value

    def change_with_last_access(self, change: Any, now: int) -> tuple[int, list[Any]]:
        start, elements = change
        return start, self.with_last_access(elements, now)

    def flat_changes(self, changes: list[Any]) -> FlatChanges:
        return FlatChanges([elements for _, elements in changes], starts=[start for start, _ in changes])

    def gathered_changes(self, flat: FlatChanges) -> list[Any]:
        return list(zip(flat.starts, flat.values, strict=True))

    def apply(self, entries: dict[Any, Any], keys: Sequence[Any], changes: Sequence[Any]) -> None:
        for key, (start, elements) in zip(keys, changes, strict=True):
            entries[key] = entries[key][:start] + elements if start else elements


LIST_SHAPE = ListShape()
