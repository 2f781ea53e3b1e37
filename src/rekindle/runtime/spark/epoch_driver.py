"""What lets the epochs of an attempt begin, one after the other: a loop of Rekindle's own, or a query of Spark's."""

from __future__ import annotations

from typing import Protocol


class EpochDriver(Protocol):
    """Begin epochs when there is something to do."""

    def tick(self) -> None:
        """Ask for an epoch in which slots are polled. Asked twice before it begins, there is one. From any thread."""

    @property
    def active(self) -> bool:
        """Tell whether there may be more epochs."""

    @property
    def error(self) -> BaseException | None:
        """Say why there will be no more."""

    def stop(self) -> None:
        """Cut off the epoch under way, and wait until it has ended; there is no other."""
