"""DataFrames that a program describes, so that they can be made in any session, and made again in the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph, SparkSource
from rekindle.graph.transformations.sources import TextFiles
from rekindle.runtime.spark.text_files import load_text_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class DataFrameFunction:
    """Make a DataFrame by a function of the program.

    Attributes:
        function: The function.
        first: What it made when the program was written; the same session need not make it twice.
        uid: The source.
    """

    function: Callable[[SparkSession], DataFrame]
    first: DataFrame
    uid: str

    @staticmethod
    def called(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrameFunction:
        """Call the function for the first time."""
        return DataFrameFunction(function, _made(function, session, uid), uid)

    def load(self, session: SparkSession) -> DataFrame:
        """Make the DataFrame."""
        return self.first if self.first.sparkSession is session else _made(self.function, session, self.uid)


def load_data_frames(graph: JobGraph, session: SparkSession) -> JobGraph:
    """Put DataFrames of a session in the place of those that a program only described, or that are another session's.

    What was loaded before is loaded again if it was described; a DataFrame that the program gave as such stays.
    """
    return replace(graph, spark_sources=tuple(_loaded(source, session) for source in graph.spark_sources))


def _loaded(source: SparkSource, session: SparkSession) -> SparkSource:
    described = source.described or source.data_frame
    match described:
        case TextFiles():
            return replace(source, data_frame=load_text_files(described, session), described=described)
        case DataFrameFunction():
            return replace(source, data_frame=described.load(session), described=described)
    return source


def _made(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrame:
    from pyspark.sql import DataFrame  # programs are described without Spark

    made = function(session)
    if not isinstance(made, DataFrame):
        raise InvalidProgramError(
            f"the function of DataFrame source {uid!r} must return a DataFrame, and it returned a {type(made).__name__}"
        )
    return made
