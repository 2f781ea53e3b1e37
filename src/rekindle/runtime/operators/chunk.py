"""A chunk: the records that travel together, from operator to operator and across exchanges."""

from __future__ import annotations

from typing import Any


class Chunk:
    """Hold records, with their keys on a keyed edge and their timestamps where the stream has them.

    Operators never change the lists of a chunk that they are given.
    """

    __slots__ = ("keys", "timestamps", "values")

    def __init__(
        self, values: list[Any], timestamps: list[int | None] | None = None, keys: list[Any] | None = None
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys
