"""Where records go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from rekindle.contracts.connectors import Sink
from rekindle.contracts.functions import GenericWriteAheadSink, TwoPhaseCommitSinkFunction
from rekindle.contracts.table_commit import TableWriter
from rekindle.graph.transformations.transformation import FunctionTransformation, Transformation
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

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
class DataFrameSinkTransformation(Transformation):
    """Let the driver hand records, as a DataFrame, to a function of the program when a checkpoint is complete.

    Attributes:
        schema: The columns.
        write: The function. It stays with the driver, where what it refers to is: it is None in the slots.
    """

    kind: ClassVar[str] = "DataFrameSinkOperator"
    schema: pa.Schema
    write: TableWriter | None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what slots do not need, and what need not be picklable."""
        return {**self.__dict__, "write": None}


@dataclass(frozen=True, eq=False)
class CommittingFunctionTransformation(FunctionTransformation):
    """Give records to a function whose output becomes visible when a checkpoint is complete.

    Attributes:
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "CommittingFunctionOperator"
    function: CommittingFunction
    type_info: TypeInformation | None = None
