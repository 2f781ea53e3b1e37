"""A chunk: the records that travel together, from operator to operator and across exchanges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar


class Chunk:
    """Hold records, with their keys on a keyed edge and their timestamps where the stream has them.

    Operators never change the lists of a chunk that they are given. A chunk that an operator returns may hold
    the records of side outputs, too, by the ids of their tags.
    """

    __slots__ = ("keys", "side", "timestamps", "values")

    columnar: ClassVar[bool] = False
    """Whether records are columns, of which rows are made for who asks."""

    def __init__(
        self, values: list[Any], timestamps: list[int | None] | None = None, keys: list[Any] | None = None
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys
        self.side: dict[str, Chunk] | None = None

    def each(self) -> Iterable[Any]:
        """Return the records for who looks at them once, in their order: they need not all be there at a time."""
        return self.values

    def samples(self) -> list[Any]:
        """Return the first record, the last and one in between; all if they are fewer."""
        values = self.values
        count = len(values)
        return [values[0], values[count // 2], values[-1]] if count > 2 else values

    def is_text(self) -> bool:
        """Return whether the records are a column of strings, none of them missing."""
        return False

    def size(self) -> int:
        """Count the records of the main output."""
        return len(self.values)

    def count(self) -> int:
        """Count the records, those of side outputs included."""
        return self.size() + sum(chunk.size() for chunk in (self.side or {}).values())

    def cut(self, start: int, stop: int) -> Chunk:
        """Return the records from one place up to another, with keys and timestamps; itself if that is all."""
        if start == 0 and stop >= len(self.values):
            return self
        timestamps, keys = self.timestamps, self.keys
        return Chunk(
            self.values[start:stop],
            None if timestamps is None else timestamps[start:stop],
            None if keys is None else keys[start:stop],
        )

    def part(self, tag: str | None) -> Chunk | None:
        """Return the records of a side output, or of the main output where no tag is given; None: there are none."""
        if tag is not None:
            return None if self.side is None else self.side.get(tag)
        if not self.values:
            return None
        return self if self.side is None else Chunk(self.values, self.timestamps, self.keys)
