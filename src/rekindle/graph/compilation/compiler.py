"""The rules in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.column_chains import DEFAULT_COLUMNS, ColumnSettings, find_column_paths
from rekindle.graph.compilation.conversions import chained_edges, settle_conversions
from rekindle.graph.compilation.levels import Levels
from rekindle.graph.compilation.loops import check_bounded, loop_bodies
from rekindle.graph.compilation.parallelism import settle_parallelism
from rekindle.graph.compilation.partitioners import settle_partitioners
from rekindle.graph.job_graph import ClusterSource, JobEdge, JobGraph, JobIteration, JobNode
from rekindle.graph.stream_graph import StreamGraph, StreamNode, with_parts_settled
from rekindle.graph.transformations.loops import LoopTransformation
from rekindle.graph.uids import assign_uids


def compile_job(
    graph: StreamGraph, parallelism: int, max_parallelism: int | None, columns: ColumnSettings = DEFAULT_COLUMNS
) -> JobGraph:
    """Translate a program: assign uids, settle parallelism and partitioners, cut at the exchanges, settle conversions.

    Args:
        graph: The program.
        parallelism: That of operators which have none of their own.
        max_parallelism: That of operators which have none of their own; None: it follows from the parallelism.
        columns: What may run by columns.
    """
    nodes = with_parts_settled(graph.nodes)
    if not nodes:
        raise InvalidProgramError("no operators are defined in this program: there is nothing to execute")
    uids = assign_uids(nodes)
    bodies = loop_bodies(nodes)
    settled = settle_parallelism(nodes, parallelism, max_parallelism)
    by_columns = find_column_paths(nodes, settled, bodies, columns)
    partitioners, levels = settle_partitioners(nodes, settled, bodies, by_columns.fused)
    conversions = settle_conversions(nodes, chained_edges(nodes, settled))
    edges: list[JobEdge] = []
    for node in nodes:
        for index, (edge, partitioner) in enumerate(zip(node.inputs, partitioners[node.id], strict=True)):
            exchange, conversion = levels.exchanges[node.id, index], conversions[node.id, index]
            edges.append(
                JobEdge(
                    id=len(edges),
                    source=edge.source,
                    target=node.id,
                    input=index,
                    partitioner=partitioner,
                    exchange=exchange,
                    type_info=conversion.type_info,
                    tag=edge.tag,
                    side=edge.side,
                    typed_keys=conversion.typed_keys,
                )
            )
    return JobGraph(
        nodes=tuple(
            JobNode(
                node.id,
                uids[node.id].uid,
                node.name,
                node.transformation,
                *settled[node.id],
                levels.level[node.id],
                levels.cluster_fed[node.id],
                columns=by_columns.columns.get(node.id),
                path=by_columns.paths.get(node.id, "records"),
                derived_from=uids[node.id].derived_from,
            )
            for node in nodes
        ),
        edges=tuple(edges),
        cluster_sources=tuple(
            ClusterSource(node.id, uids[node.id].uid, node.data_frame, node.bounded)
            for node in nodes
            if node.data_frame is not None
        ),
        iterations=tuple(_iteration(nodes, head, body, edges, levels) for head, body in bodies.items()),
        chains=tuple(
            replace(chain, edge=edge.id)
            for edge in edges
            if (chain := by_columns.chains.get((edge.target, edge.input))) is not None
        ),
    )


def _iteration(
    nodes: Sequence[StreamNode], head: int, body: frozenset[int], edges: Sequence[JobEdge], levels: Levels
) -> JobIteration:
    transformation = nodes[head].transformation
    assert isinstance(transformation, LoopTransformation)
    loop = transformation.loop
    if loop.supersteps:
        check_bounded(nodes, head, body)
    into = [edge for edge in edges if edge.target in body]
    entries = tuple(edge for edge in into if edge.source not in body)
    stays = len({levels.level[node] for node in body}) == 1
    return JobIteration(head, body, entries, loop.supersteps, loop.max_iterations, loop.has_criterion, stays)
