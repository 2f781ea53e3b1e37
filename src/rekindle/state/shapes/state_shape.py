"""What a backend stores for a key: a value, a list of elements or a map of entries.

Each shape is a file of this package. It says how what one key has is laid out in blocks, how changes to it are, and how
it carries times of last access. Kinds of state (:mod:`rekindle.state.kinds`) choose one of the shapes. A further shape
would need its place in every backend; a further kind does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FlatValues:
    """Hold what several keys have as one row of values.

    Attributes:
        values: All values, one key's after the other's.
        lengths: How many of them each key has; empty where each has one.
        map_keys: The key in its map of each value; empty where there are no maps.
    """

    values: list[Any]
    lengths: list[int] = field(default_factory=list)
    map_keys: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FlatChanges:
    """Hold the changes of several keys, each field with one item per key; empty where the shape has no use for it.

    Attributes:
        values: What each key has anew, in the form in which a state keeps it.
        starts: From which element on a list is new.
        cleared: Whether a map is emptied first.
        removed: The keys of the entries that a map loses.
    """

    values: list[Any]
    starts: list[int] = field(default_factory=list)
    cleared: list[bool] = field(default_factory=list)
    removed: list[list[Any]] = field(default_factory=list)


class StateShape(ABC):
    """Lay out what a state keeps for a key.

    Attributes:
        several: Whether a key may have several values, each with a last access of its own.
        has_map_keys: Whether each value stands under a key in a map. Only such values may be None.
    """

    several: ClassVar[bool]
    has_map_keys: ClassVar[bool] = False

    # --- times of last access ---

    @abstractmethod
    def with_last_access(self, value: Any, now: int) -> Any:
        """Turn what a state without time-to-live keeps for a key into what one with it keeps: just written."""

    @abstractmethod
    def split(self, value: Any) -> tuple[Any, Any]:
        """Split what a state with time-to-live keeps for a key into what one without it keeps, and times alike."""

    @abstractmethod
    def unexpired(self, value: Any, threshold: int) -> Any:
        """Return what is left of a key's state without what was accessed last at ``threshold`` or before; or None."""

    # --- blocks ---

    @abstractmethod
    def flat(self, values: list[Any]) -> FlatValues:
        """Put what several keys have into one row."""

    @abstractmethod
    def gathered(self, flat: FlatValues) -> list[Any]:
        """Give each key back what it has in a row.

        Raises:
            ValueError: The row does not hold what it says.
        """

    # --- changes ---

    @abstractmethod
    def replacement(self, value: Any) -> Any:
        """Return the change that makes this all that a key has."""

    @abstractmethod
    def change_with_last_access(self, change: Any, now: int) -> Any:
        """Turn a change of a state without time-to-live into one of a state with it: just written."""

    @abstractmethod
    def flat_changes(self, changes: list[Any]) -> FlatChanges:
        """Take the changes of several keys apart."""

    @abstractmethod
    def gathered_changes(self, flat: FlatChanges) -> list[Any]:
        """Put the changes of several keys together again."""

    @abstractmethod
    def apply(self, entries: dict[Any, Any], keys: Sequence[Any], changes: Sequence[Any]) -> None:
        """Change what keys have."""


def check_lengths(flat: FlatValues) -> None:
    """Raise ValueError unless a row has as many values as its keys have together."""
    if sum(flat.lengths) != len(flat.values):
        raise ValueError(f"there are {len(flat.values)} values where {sum(flat.lengths)} should be")
