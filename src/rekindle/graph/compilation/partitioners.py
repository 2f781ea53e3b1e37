"""How records are dealt out on each edge: as the program says, and otherwise where that would not do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.levels import Levels
from rekindle.graph.compilation.parallelism import Parallelism
from rekindle.graph.partitioning import REBALANCE, RESCALE, Partitioner, Partitioning
from rekindle.graph.stream_graph import StreamEdge, StreamNode


def settle_partitioners(
    nodes: Sequence[StreamNode],
    parallelism: Mapping[int, Parallelism],
    heads: Collection[int],
    fused: Collection[int] = (),
) -> tuple[dict[int, list[Partitioner]], Levels]:
    """Return the partitioners of the inputs of each node, and the levels that follow from them.

    Args:
        nodes: The program.
        parallelism: Of each node.
        heads: The nodes at which loops begin.
        fused: The nodes that are run where their source is read, as a part of that.
    """
    levels = Levels(nodes, parallelism)
    timed = (node.id for node in nodes if node.transformation.generates_watermarks)
    before_watermarks = _before(nodes, timed)
    settled: dict[int, list[Partitioner]] = {}
    for node in nodes:
        own = []
        for edge in node.inputs:
            partitioner = _where_parallelism_changes(nodes, node, edge, parallelism)
            if node.id in fused:
                own.append(edge.partitioner)
                continue
            partitioner = _behind_spark(node, edge, partitioner, levels, node.id in before_watermarks)
            if node.id in heads:
                partitioner = _into_loop(edge, partitioner, levels)
            own.append(partitioner)
        settled[node.id] = own
        levels.add(node, own)
    return settled, levels


def _where_parallelism_changes(
    nodes: Sequence[StreamNode], node: StreamNode, edge: StreamEdge, parallelism: Mapping[int, Parallelism]
) -> Partitioner:
    """Deal out anew between operators of different parallelism."""
    sources, targets = parallelism[edge.source].parallelism, parallelism[node.id].parallelism
    if edge.partitioner.kind is not Partitioning.FORWARD or sources == targets:
        return edge.partitioner
    if edge.partitioner.asked_for:
        raise InvalidProgramError(
            f"forward() does not allow a change of parallelism: {nodes[edge.source].name!r} has {sources} subtasks and "
            f"{node.name!r} has {targets}. Give both the same, or use another partitioning: rescale, rebalance, "
            "shuffle, broadcast or global_"
        )
    return REBALANCE


def _behind_spark(
    node: StreamNode, edge: StreamEdge, partitioner: Partitioner, levels: Levels, before_watermarks: bool
) -> Partitioner:
    """Put an exchange where an operator must know when all tasks of a Spark source are done: only that tells.

    Records of one task keep their order, except where watermarks follow: a subtask that gets no records would hold
    them back.
    """
    mixed = len({levels.cluster_fed[other.source] for other in node.inputs}) > 1
    apart = mixed or node.transformation.generates_watermarks or node.transformation.emits_unasked
    if partitioner.kind is not Partitioning.FORWARD or not levels.cluster_fed[edge.source] or not apart:
        return partitioner
    return REBALANCE if before_watermarks and not partitioner.asked_for else RESCALE


def _into_loop(edge: StreamEdge, partitioner: Partitioner, levels: Levels) -> Partitioner:
    """Keep loops out of level 0 where Spark has sources: a loop needs a task in every epoch, and there may be none."""
    if partitioner.kind is not Partitioning.FORWARD or levels.local or levels.level[edge.source]:
        return partitioner
    return RESCALE


def _before(nodes: Sequence[StreamNode], of: Iterable[int]) -> set[int]:
    """Return some nodes and all whose records come to them as they were dealt out."""
    found = set(of)
    for node in reversed(nodes):
        if node.id in found:
            found.update(edge.source for edge in node.inputs if edge.partitioner.kind is Partitioning.FORWARD)
    return found
