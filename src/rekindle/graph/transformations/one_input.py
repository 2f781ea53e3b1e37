"""Map, filter, flat_map, process and reduce; operators of the program's own; asynchronous requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rekindle.contracts.functions.async_functions import AsyncFunctionDescriptor
from rekindle.contracts.operators.stream_operator import (
    AbstractStreamOperator,
    OneInputStreamOperator,
    TwoInputStreamOperator,
)
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.transformations.transformation import (
    FunctionTransformation,
    KeyedTransformation,
    Transformation,
    check_interfaces,
)
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class PassTransformation(Transformation):
    """Pass records on as they are."""

    kind: ClassVar[str] = "PassOperator"


@dataclass(frozen=True, eq=False)
class MapTransformation(FunctionTransformation):
    """Turn each record into one."""

    kind: ClassVar[str] = "MapOperator"


@dataclass(frozen=True, eq=False)
class FlatMapTransformation(FunctionTransformation):
    """Turn each record into any number."""

    kind: ClassVar[str] = "FlatMapOperator"


@dataclass(frozen=True, eq=False)
class FilterTransformation(FunctionTransformation):
    """Keep some of the records."""

    kind: ClassVar[str] = "FilterOperator"


@dataclass(frozen=True, eq=False)
class ProcessTransformation(FunctionTransformation):
    """Run a ProcessFunction."""

    kind: ClassVar[str] = "ProcessOperator"


@dataclass(frozen=True, eq=False)
class KeyedMapTransformation(KeyedTransformation):
    """Turn each record into one, with the state of its key."""

    kind: ClassVar[str] = "KeyedMapOperator"


@dataclass(frozen=True, eq=False)
class KeyedFlatMapTransformation(KeyedTransformation):
    """Turn each record into any number, with the state of its key."""

    kind: ClassVar[str] = "KeyedFlatMapOperator"


@dataclass(frozen=True, eq=False)
class KeyedFilterTransformation(KeyedTransformation):
    """Keep some of the records, with the state of their key."""

    kind: ClassVar[str] = "KeyedFilterOperator"


@dataclass(frozen=True, eq=False)
class KeyedProcessTransformation(KeyedTransformation):
    """Run a KeyedProcessFunction."""

    kind: ClassVar[str] = "KeyedProcessOperator"


@dataclass(frozen=True, eq=False)
class KeyedBatchTransformation(KeyedTransformation):
    """Run a KeyedBatchFunction.

    Attributes:
        type_info: The type of the records; None: any Python object.
        schema: What the columns are of rows that come as a DataFrame has them, in Arrow; None: they do not.
    """

    kind: ClassVar[str] = "KeyedBatchOperator"
    type_info: TypeInformation | None = None
    schema: pa.Schema | None = None


@dataclass(frozen=True, eq=False)
class ReduceTransformation(KeyedTransformation):
    """Combine the records of a key, and emit the result with each of them.

    Attributes:
        type_info: The type of the result; None: any Python object.
    """

    kind: ClassVar[str] = "ReduceOperator"
    type_info: TypeInformation | None = None


@dataclass(frozen=True, eq=False)
class TimestampsAndWatermarksTransformation(Transformation):
    """Give the records timestamps and the stream watermarks.

    Attributes:
        strategy: How.
    """

    kind: ClassVar[str] = "TimestampsAndWatermarksOperator"
    generates_watermarks: ClassVar[bool] = True
    moves_watermark: ClassVar[bool] = True
    strategy: WatermarkStrategy


@dataclass(frozen=True, eq=False)
class AsyncWaitTransformation(Transformation):
    """Ask something outside about each record, and go on meanwhile.

    Attributes:
        descriptor: The function, and how many requests may be under way, for how long and in which order.
        element_type: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "AsyncWaitOperator"
    emits_unasked: ClassVar[bool] = True
    descriptor: AsyncFunctionDescriptor
    element_type: TypeInformation | None = None

    def __post_init__(self) -> None:
        check_interfaces(self.descriptor.async_function)

    def keeps_records(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class CustomTransformation(Transformation):
    """Run an operator of the program's own.

    Attributes:
        operator: The operator.
        keyed: Whether its input has keys.
        inputs: How many inputs it has.
    """

    kind: ClassVar[str] = "CustomOperator"
    emits_unasked: ClassVar[bool] = True
    moves_watermark: ClassVar[bool] = True
    operator: AbstractStreamOperator
    keyed: bool
    inputs: int

    def keeps_records(self) -> bool:
        return True


def one_input(operator: Any, keyed: bool) -> CustomTransformation:
    """Take an operator with one input, and nothing else."""
    _check(operator, OneInputStreamOperator, "transform on a stream")
    return CustomTransformation(operator, keyed, inputs=1)


def two_input(operator: Any, keyed: bool) -> CustomTransformation:
    """Take an operator with two inputs, and nothing else."""
    _check(operator, TwoInputStreamOperator, "transform on connected streams")
    return CustomTransformation(operator, keyed, inputs=2)


def _check(operator: Any, kind: type[Any], method: str) -> None:
    if not isinstance(operator, AbstractStreamOperator) or not isinstance(operator, kind):
        raise TypeError(
            f"{method} takes an operator that is an AbstractStreamOperator and a {kind.__name__}, and was given "
            f"{operator!r}"
        )
