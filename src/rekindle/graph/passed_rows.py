"""Which streams bring the rows of a DataFrame as they were read, and what the columns of these are in Arrow. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rekindle.graph.stream_graph import StreamEdge, StreamNode
from rekindle.graph.transformations.one_input import (
    FilterTransformation,
    KeyedFilterTransformation,
    PassTransformation,
    TimestampsAndWatermarksTransformation,
)
from rekindle.graph.transformations.sources import DataFrameFunction

if TYPE_CHECKING:
    import pyarrow as pa

_PASS_ROWS = (
    FilterTransformation,
    KeyedFilterTransformation,
    PassTransformation,
    TimestampsAndWatermarksTransformation,
)


def rows_schema(nodes: Sequence[StreamNode], inputs: Sequence[StreamEdge]) -> pa.Schema | None:
    """Return the schema of the DataFrame whose rows a stream brings.

    Args:
        nodes: The operators of the program.
        inputs: Where the stream comes from.

    Returns:
        The schema; None where it brings other records, rows of several schemas, or columns that Arrow has no type for.
    """
    found = None
    for edge in inputs:
        node = nodes[edge.source]
        if edge.tag is not None:
            return None
        if node.data_frame is not None and node.transformation.passes_rows:
            schema = _in_arrow(node.data_frame)
        elif type(node.transformation) in _PASS_ROWS:
            schema = rows_schema(nodes, node.inputs)
        else:
            return None
        if schema is None or (found is not None and schema != found):
            return None
        found = schema
    return found


def _in_arrow(frame: Any) -> pa.Schema | None:
    schema = getattr(frame.first if isinstance(frame, DataFrameFunction) else frame, "schema", None)
    if schema is None:
        return None
    from rekindle.formats.spark_arrow import arrow_of_spark  # a program without DataFrames needs no Arrow

    try:
        return arrow_of_spark(schema)
    except TypeError:
        return None
