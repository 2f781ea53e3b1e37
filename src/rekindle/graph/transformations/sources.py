"""Where records come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Union

from rekindle.contracts.connectors import Source
from rekindle.contracts.functions import SourceFunction
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.exceptions import InvalidProgramError
from rekindle.formats.record_forms import RecordForm
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


class DescribedFrame(ABC):
    """What the cluster reads, described so that it can be opened in any session, and again in the next one."""

    packages: ClassVar[tuple[str, ...]] = ()
    """What Spark has to be started with to read it, as Maven names it: ``group:artifact``, without a version."""

    @abstractmethod
    def open(self, session: SparkSession) -> DataFrame:
        """Return the DataFrame in a session."""

    def for_job(self) -> DescribedFrame:
        """Return what one job reads: it may remember what that job found, and a program may run several."""
        return self


@dataclass(frozen=True, slots=True)
class TextFiles(DescribedFrame):
    """Files of text, which the cluster opens.

    Attributes:
        paths: Files, directories with all that is below them, or patterns.
        as_bytes: Whether lines are given as bytes, because they are not UTF-8.
        monitored: Whether files that are added later are read, too.
    """

    paths: tuple[str, ...]
    as_bytes: bool = False
    monitored: bool = False

    def open(self, session: SparkSession) -> DataFrame:
        """Let Spark find the files; return their lines."""
        from pyspark.sql import DataFrame  # programs are described without Spark
        from pyspark.sql import functions as F  # noqa: N812 - the customary name

        if self.monitored:
            reader = session.readStream.option("recursiveFileLookup", True)
            lines = reduce(DataFrame.unionAll, [reader.text(path) for path in self.paths])
        else:
            lines = session.read.option("recursiveFileLookup", True).text(list(self.paths))
        return lines.select(F.col("value").cast("binary")) if self.as_bytes else lines


@dataclass(frozen=True, slots=True)
class DataFrameFunction(DescribedFrame):
    """A DataFrame, described by a function that makes it in any session.

    Attributes:
        function: The function.
        first: What it made when the program was written; the same session need not make it twice.
        uid: The source.
    """

    function: Callable[[SparkSession], DataFrame]
    first: DataFrame
    uid: str

    def open(self, session: SparkSession) -> DataFrame:
        """Call the function, unless it was called with this session before."""
        if self.first.sparkSession is session:
            return self.first
        return called_for_frame(self.function, session, self.uid)


def called_for_frame(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrame:
    """Return the DataFrame that a program's function makes.

    Raises:
        InvalidProgramError: It makes something else.
    """
    from pyspark.sql import DataFrame  # programs are described without Spark

    made = function(session)
    if not isinstance(made, DataFrame):
        raise InvalidProgramError(
            f"the function of DataFrame source {uid!r} must return a DataFrame, and it returned a {type(made).__name__}"
        )
    return made


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


@dataclass(frozen=True, eq=False)
class FileRecordsTransformation(Transformation):
    """Turn the rows of files that Spark reads into other records.

    Attributes:
        form: What they become.
    """

    kind: ClassVar[str] = "FileRecordsOperator"
    form: RecordForm
