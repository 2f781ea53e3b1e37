"""DataFrames that a program describes, so that they can be made in any session, and made again in the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.transformations.sources import DataFrameFunction, DescribedFrame, called_for_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def call_for_frame(function: Callable[[SparkSession], DataFrame], session: SparkSession, uid: str) -> DataFrameFunction:
    """Describe a DataFrame by the function that makes it, which is called for the first time."""
    return DataFrameFunction(function, called_for_frame(function, session, uid), uid)


def frame_of(source: ClusterSource) -> DataFrame:
    """Return the DataFrame of a source that was loaded."""
    return cast("DataFrame", source.data_frame)


def load_data_frames(graph: JobGraph, session: SparkSession) -> JobGraph:
    """Put DataFrames of a session in the place of those that a program only described, or that are another session's.

    What was loaded before is loaded again if it was described; a DataFrame that the program gave as such stays.
    """
    return replace(graph, cluster_sources=tuple(_loaded(source, session) for source in graph.cluster_sources))


def _loaded(source: ClusterSource, session: SparkSession) -> ClusterSource:
    described = source.described
    if described is None and isinstance(source.data_frame, DescribedFrame):
        described = source.data_frame.for_job()
    return source if described is None else replace(source, data_frame=described.open(session), described=described)
