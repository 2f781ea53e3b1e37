"""Connected streams, broadcast state and joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.state import MapStateDescriptor
from rekindle.graph.transformations.transformation import FunctionTransformation, KeyedTransformation
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, eq=False)
class CoTransformation(FunctionTransformation):
    """Run a function over two streams."""

    kind: ClassVar[str] = "CoOperator"


@dataclass(frozen=True, eq=False)
class KeyedCoTransformation(KeyedTransformation):
    """Run a function over two streams with the same keys."""

    kind: ClassVar[str] = "KeyedCoOperator"


@dataclass(frozen=True, eq=False)
class BroadcastTransformation(FunctionTransformation):
    """Run a BroadcastProcessFunction; the second input is the broadcast one.

    Attributes:
        descriptors: The broadcast states.
    """

    kind: ClassVar[str] = "BroadcastOperator"
    descriptors: tuple[MapStateDescriptor, ...]

    def keeps_records(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class KeyedBroadcastTransformation(KeyedTransformation):
    """Run a KeyedBroadcastProcessFunction; the second input is the broadcast one.

    Attributes:
        descriptors: The broadcast states.
    """

    kind: ClassVar[str] = "KeyedBroadcastOperator"
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """Bound ``right.timestamp - left.timestamp`` of a pair, in milliseconds; both bounds are part of it."""

    lower: int
    upper: int

    def seen_from(self, side: int) -> tuple[int, int]:
        """Return the bounds of the other side's timestamp minus that of an element of a side, 0 or 1."""
        return (-self.upper, -self.lower) if side else (self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class JoinSide:
    """Describe one of the streams.

    Attributes:
        type_info: The type of its elements; None: they are pickled.
        late_tag: The side output of its late elements; None: they are dropped.
    """

    type_info: TypeInformation | None = None
    late_tag: OutputTag | None = None


@dataclass(frozen=True, eq=False)
class IntervalJoinTransformation(KeyedTransformation):
    """Run a ProcessJoinFunction over the pairs of two keyed streams.

    Attributes:
        interval: How far apart the elements of a pair may be.
        left: The first stream.
        right: The second stream.
    """

    kind: ClassVar[str] = "IntervalJoinOperator"
    interval: Interval
    left: JoinSide
    right: JoinSide
