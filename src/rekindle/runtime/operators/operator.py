"""What every operator is: built from its transformation in each slot that runs it, and opened there once.

What only some operators do is in :mod:`rekindle.runtime.operators.roles`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator_context import OperatorContext

MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1


class Operator(ABC):
    """Process chunks. Everything here, and in the roles, is called by one thread at a time."""

    def open(self, context: OperatorContext) -> None:  # noqa: B027 - most operators have nothing to set up
        """Set up in a slot, with restored state if there is any."""

    @abstractmethod
    def process(self, chunk: Chunk) -> Chunk | None:
        """Process records; return what goes on to the next operators."""

    def advance_watermark(self, watermark: int) -> Chunk | None:
        """React to the progress of event time."""
        return None

    def finish(self) -> Chunk | None:
        """React to the end of all inputs, after the last watermark."""
        return None

    def close(self) -> None:  # noqa: B027
        """Tear down; the slot ends."""
