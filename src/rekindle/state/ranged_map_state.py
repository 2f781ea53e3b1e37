"""Maps whose keys are integers, and of which a range can be read: what the states of every backend can do."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from rekindle.contracts.state import MapState


class RangedMapState(MapState[Any, Any]):
    """Keep a map per key, and give a part of it without reading all."""

    __slots__ = ()

    @abstractmethod
    def between(self, first: int, last: int) -> list[tuple[int, Any]]:
        """Give the entries whose keys lie between two, both included, in their order.

        All keys of the map must be integers of 64 bits.
        """
