"""DataFrames that a program describes, so that they can be made in any session, and made again in the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, cast

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.transformations.sources import DataFrameFunction, TextFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def call_for_frame(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrameFunction:
    """Describe a DataFrame by the function that makes it, which is called for the first time."""
    return DataFrameFunction(function, _made(function, session, uid), uid)


def frame_of(source: ClusterSource) -> DataFrame:
    """Return the DataFrame of a source that was loaded."""
    return cast("DataFrame", source.data_frame)


def load_data_frames(graph: JobGraph, session: SparkSession) -> JobGraph:
    """Put DataFrames of a session in the place of those that a program only described, or that are another session's.

    What was loaded before is loaded again if it was described; a DataFrame that the program gave as such stays.
    """
    return replace(graph, cluster_sources=tuple(_loaded(source, session) for source in graph.cluster_sources))


def _loaded(source: ClusterSource, session: SparkSession) -> ClusterSource:
    described = source.described or source.data_frame
    match described:
        case TextFiles():
            return replace(source, data_frame=_text_lines(described, session), described=described)
        case DataFrameFunction():
            same = described.first.sparkSession is session
            frame = described.first if same else _made(described.function, session, described.uid)
            return replace(source, data_frame=frame, described=described)
    return source


def _made(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrame:
    from pyspark.sql import DataFrame  # programs are described without Spark

    made = function(session)
    if not isinstance(made, DataFrame):
        raise InvalidProgramError(
            f"the function of DataFrame source {uid!r} must return a DataFrame, and it returned a {type(made).__name__}"
        )
    return made


def _text_lines(files: TextFiles, session: SparkSession) -> DataFrame:
    """Let Spark find the files; return their lines."""
    from pyspark.sql import DataFrame  # programs are described without Spark
    from pyspark.sql import functions as F  # noqa: N812 - the customary name

    if files.monitored:
        reader = session.readStream.option("recursiveFileLookup", True)
        lines = reduce(DataFrame.unionAll, [reader.text(path) for path in files.paths])
    else:
        lines = session.read.option("recursiveFileLookup", True).text(list(files.paths))
    return lines.select(F.col("value").cast("binary")) if files.as_bytes else lines
