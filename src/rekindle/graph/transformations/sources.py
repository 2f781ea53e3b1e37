"""Where records come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Union

from rekindle.contracts.connectors import Source
from rekindle.contracts.functions import SourceFunction
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.transformations.transformation import FunctionTransformation, Transformation
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class CollectionSourceTransformation(Transformation):
    """Read a list.

    Attributes:
        values: The records.
    """

    kind: ClassVar[str] = "CollectionSourceOperator"
    hosted: ClassVar[bool] = True
    values: list[Any]


@dataclass(frozen=True, eq=False)
class FunctionSourceTransformation(FunctionTransformation):
    """Take what a source function emits.

    Attributes:
        function: The function.
        type_info: The type of the records; None: any Python object.
    """

    kind: ClassVar[str] = "FunctionSourceOperator"
    hosted: ClassVar[bool] = True
    moves_by_itself: ClassVar[bool] = True
    function: SourceFunction
    type_info: TypeInformation | None = None


@dataclass(frozen=True, eq=False)
class ConnectorSourceTransformation(Transformation):
    """Let a connector read in the slots.

    Attributes:
        source: The connector.
        strategy: How records get timestamps and watermarks; None: they get none.
    """

    kind: ClassVar[str] = "Source"
    hosted: ClassVar[bool] = True
    source: Source
    strategy: WatermarkStrategy | None = None

    @property
    def uid_kind(self) -> str:
        return self.source.kind


@dataclass(frozen=True, eq=False)
class RowsTransformation(Transformation):
    """Stand at the head of a DataFrame's rows; Spark reads them and keeps the position."""

    kind: ClassVar[str] = "SparkSourceOperator"
    passes_rows: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Describe files of text, which the cluster opens.

    Attributes:
        paths: Files, directories with all that is below them, or patterns.
        as_bytes: Whether lines are given as bytes, because they are not UTF-8.
        monitored: Whether files that are added later are read, too.
    """

    paths: tuple[str, ...]
    as_bytes: bool = False
    monitored: bool = False


@dataclass(frozen=True, slots=True)
class DataFrameFunction:
    """Describe a DataFrame by a function that makes it in any session.

    Attributes:
        function: The function.
        first: What it made when the program was written; the same session need not make it twice.
        uid: The source.
    """

    function: Callable[[SparkSession], DataFrame]
    first: DataFrame
    uid: str


DescribedFrame: TypeAlias = TextFiles | DataFrameFunction
"""What can be opened in any session, and again in the next one."""

ClusterFrame: TypeAlias = Union["DataFrame", DescribedFrame]
"""What the cluster reads: as the program gave it."""


@dataclass(frozen=True, eq=False)
class TextLinesTransformation(Transformation):
    """Turn the rows of text that Spark reads into strings.

    Attributes:
        charset: The encoding of rows that hold bytes; None: they hold strings.
    """

    kind: ClassVar[str] = "TextLinesOperator"
    charset: str | None = None
