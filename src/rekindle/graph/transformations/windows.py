"""Windows: how a stream is cut into them, what is kept of them, and what is run over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rekindle.contracts.functions import AggregateFunction, ReduceFunction
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.windowing.evictors import Evictor
from rekindle.contracts.windowing.trigger import Trigger
from rekindle.graph.transformations.transformation import KeyedTransformation
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, eq=False)
class WindowContents:
    """Say what is kept of a window: an element for each record, or less.

    Attributes:
        type_info: The type of what is kept; None: any Python object.
        function: What combines elements, so that a window has one result only; None: all are seen.
        evictor: What drops elements of windows that fire; then all are kept until they do. None: nothing does.
    """

    type_info: TypeInformation | None
    function: ReduceFunction | AggregateFunction | None = None
    evictor: Evictor[Any, Any] | None = None


@dataclass(frozen=True, slots=True)
class Windowing:
    """Say how a stream is cut into windows.

    Attributes:
        assigner: Which windows an element belongs to.
        trigger: When they fire.
        contents: What is kept of them.
        allowed_lateness: How long after its end a window in event time is kept for late elements, in milliseconds.
        late_tag: The side output of elements that come later still; None: they are dropped.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    contents: WindowContents
    allowed_lateness: int = 0
    late_tag: OutputTag | None = None


@dataclass(frozen=True, eq=False)
class WindowTransformation(KeyedTransformation):
    """Run a function over the windows of each key.

    Attributes:
        windowing: The windows.
    """

    kind: ClassVar[str] = "WindowOperator"
    windowing: Windowing


@dataclass(frozen=True, eq=False)
class CoGroupTransformation(WindowTransformation):
    """Run a CoGroupFunction over the windows of two streams."""

    kind: ClassVar[str] = "CoGroupOperator"
