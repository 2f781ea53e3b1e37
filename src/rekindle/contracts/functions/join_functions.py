"""Functions over pairs and groups of elements of two streams: joins and co-groups.

PyFlink has none of them; they are Flink's, with Python's names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic

from rekindle.base.type_variables import IN1, IN2, OUT
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.side_output_words import YieldsSideOutputs

if TYPE_CHECKING:
    from rekindle.contracts.functions.results import Results

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of a join into exactly one result."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return what an element of the first stream and one of the second become."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of a join into zero, one or more results."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Yield, or return as an iterable, what the pair becomes; return None for nothing."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Compute results from all elements of two streams that have one key and are in one window."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Yield or return the results; one of the two may be empty, never both."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of an interval join into zero, one or more results, with access to time and side outputs."""

    class Context(YieldsSideOutputs, ABC):
        """Describe the pair; valid only during the call it is passed to."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the timestamp of the element of the first stream."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the timestamp of the element of the second stream."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the later of the two timestamps, which is that of the results."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context) -> Results[OUT]:
        """Process a pair; yield or return the results, and ``output_tag, value`` for a side output."""
