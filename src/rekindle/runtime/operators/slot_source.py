"""A source that the slots read themselves."""

from __future__ import annotations

from abc import abstractmethod

from rekindle.base.type_variables import OUT
from rekindle.contracts.connectors import Source
from rekindle.runtime.operators.source_operator import SourceOperator


class SlotSource(Source[OUT]):
    """Describe a source that is read in the slots."""

    @abstractmethod
    def create_operator(self) -> SourceOperator:
        """Create what reads, in a slot."""
