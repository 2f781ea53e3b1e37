"""Where an operator sends what it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.contracts.operators.stream_record import StreamRecord, Watermark
from rekindle.contracts.output_tag import OutputTag

__all__ = ["Output"]


class Output(ABC):
    """Receives the records and watermarks of an operator while it is called."""

    @abstractmethod
    def collect(self, record: StreamRecord[Any]) -> None:
        """Emit a record."""

    @abstractmethod
    def collect_to(self, output_tag: OutputTag, record: StreamRecord[Any]) -> None:
        """Emit a record to a side output: Flink's ``collect(outputTag, record)``."""

    @abstractmethod
    def emit_watermark(self, mark: Watermark) -> None:
        """Emit a watermark: operators that follow see it behind all records of this call; it never goes back."""
