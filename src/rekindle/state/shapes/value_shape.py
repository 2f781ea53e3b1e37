"""One value per key: a value or an accumulator. A change is the new value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rekindle.state.shapes.state_shape import FlatChanges, FlatValues, StateShape


class ValueShape(StateShape):
    """Keep one value per key."""

    several = False

    def with_last_access(self, value: Any, now: int) -> tuple[Any, int]:
        return value, now

    def split(self, value: Any) -> tuple[Any, Any]:
        held, last_access = value
        return held, last_access

    def unexpired(self, value: Any, threshold: int) -> Any:
        return value if value[1] > threshold else None

    def flat(self, values: list[Any]) -> FlatValues:
        return FlatValues(values)

    def gathered(self, flat: FlatValues) -> list[Any]:
        return flat.values

    def replacement(self, value: Any) -> Any:
        return value

    def change_with_last_access(self, change: Any, now: int) -> tuple[Any, int]:
        return change, now

    def flat_changes(self, changes: list[Any]) -> FlatChanges:
        return FlatChanges(changes)

    def gathered_changes(self, flat: FlatChanges) -> list[Any]:
        return flat.values

    def apply(self, entries: dict[Any, Any], keys: Sequence[Any], changes: Sequence[Any]) -> None:
        entries.update(zip(keys, changes, strict=True))


VALUE_SHAPE = ValueShape()
