"""Programs with every call that adds operators, and the checkpoints that they would take."""

from __future__ import annotations

from rekindle.checkpoint.metadata import CheckpointMetadata, ListStateMetadata, OperatorMetadata, SourcePosition
from rekindle.common import Duration, WatermarkStrategy
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileSource, StreamFormat
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.transformations.transformation import KeyedTransformation
from rekindle.state.operator_state.stored import DistributionMode

IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()
UNTIMED = WatermarkStrategy.no_watermarks()


def environment() -> StreamExecutionEnvironment:
    """Return an environment in which programs are compiled, and not run."""
    return StreamExecutionEnvironment.get_execution_environment()


def files(env: StreamExecutionEnvironment, name: str = "lines", strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    """Read a directory to which files are added."""
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in")
    return env.from_source(builder.monitor_continuously(Duration.of_seconds(1)).build(), strategy, name)


def checkpoint_of(graph: JobGraph) -> CheckpointMetadata:
    """Return the metadata of a checkpoint in which each operator that may have state has some.

    The offset of a position is the name of its source.
    """
    names = {node.uid: node.name for node in graph.nodes}
    operators = [
        OperatorMetadata(
            node.uid,
            node.name,
            node.parallelism,
            node.max_parallelism,
            ["total"] if isinstance(node.transformation, KeyedTransformation) else [],
            {"position": ListStateMetadata(DistributionMode.SPLIT, [1])} if node.transformation.hosted else {},
            source_kind=node.transformation.uid_kind if node.transformation.hosted else "",
        )
        for node in graph.nodes
    ]
    positions = [SourcePosition(source.uid, [names[source.uid]], []) for source in graph.cluster_sources]
    return CheckpointMetadata(7, "job", "orders", 0, 5, operators, [], positions, savepoint=True)


def earlier_release(metadata: CheckpointMetadata, **derived: str) -> CheckpointMetadata:
    """Return what a release wrote that had uids of sources with watermarks at the operators which make those.

    Args:
        metadata: What would be written today.
        derived: The uid that was derived for each source, by the one that the program gave.
    """
    operators = []
    for operator in metadata.operators:
        uid = operator.uid.removesuffix(":watermarks")
        if operator.uid in derived:
            operator = OperatorMetadata(derived[operator.uid], operator.name, 1, 128, [], {})
        elif uid != operator.uid:
            operator = OperatorMetadata(uid, "Timestamps/Watermarks", 1, 128, [], {})
        operators.append(operator)
    positions = [SourcePosition(derived.get(p.uid, p.uid), p.offsets, []) for p in metadata.positions]
    return CheckpointMetadata(7, "job", "orders", 0, 5, operators, [], positions, savepoint=True)
