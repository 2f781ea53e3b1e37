"""Where records go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from rekindle.contracts.connectors import Sink
from rekindle.contracts.functions import GenericWriteAheadSink, TwoPhaseCommitSinkFunction
from rekindle.graph.transformations.transformation import FunctionTransformation, Transformation
from rekindle.types.type_information import TypeInformation

CommittingFunction: TypeAlias = TwoPhaseCommitSinkFunction[Any] | GenericWriteAheadSink
"""A function that takes part in two-phase commit."""


@dataclass(frozen=True, eq=False)
class PrintTransformation(Transformation):
    """Print records where the driver runs.

    Attributes:
        identifier: What stands before each; None: nothing.
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "PrintOperator"
    identifier: str | None
    type_info: TypeInformation | None


@dataclass(frozen=True, eq=False)
class CollectTransformation(Transformation):
    """Bring records to the driver.

    Attributes:
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "CollectOperator"
    needs_uid: ClassVar[bool] = False
    type_info: TypeInformation | None = None


@dataclass(frozen=True, eq=False)
class SinkFunctionTransformation(FunctionTransformation):
    """Give records to a SinkFunction."""

    kind: ClassVar[str] = "SinkFunctionOperator"


@dataclass(frozen=True, eq=False)
class TwoPhaseSinkTransformation(Transformation):
    """Let a sink write records, which become visible when a checkpoint is complete.

    Attributes:
        sink: The sink.
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "TwoPhaseSinkOperator"
    sink: Sink
    type_info: TypeInformation | None = None


@dataclass(frozen=True, eq=False)
class CommittingFunctionTransformation(FunctionTransformation):
    """Give records to a function whose output becomes visible when a checkpoint is complete.

    Attributes:
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "CommittingFunctionOperator"
    function: CommittingFunction
    type_info: TypeInformation | None = None
