"""The two sides of a custom watermark generator: the generator, and what it emits to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from rekindle.base.type_variables import IN

__all__ = ["WatermarkGenerator", "WatermarkOutput"]


class WatermarkOutput(ABC):
    """Receives the watermarks of a generator; the runtime implements it."""

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """Emit a watermark: no more records with this timestamp or an older one are expected."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Let downstream operators continue without this output, until it emits or is marked active again."""

    @abstractmethod
    def mark_active(self) -> None:
        """Make downstream operators wait for this output again."""


class WatermarkGenerator(ABC, Generic[IN]):
    """Generate watermarks, for each record or from time to time."""

    @abstractmethod
    def on_event(self, value: IN, timestamp: int, output: WatermarkOutput) -> None:
        """See a record and its timestamp; emit a watermark if the record calls for one."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark if there is a new one; called every auto-watermark interval and at the end of an epoch."""
