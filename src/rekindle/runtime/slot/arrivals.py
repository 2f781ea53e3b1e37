"""In which order records, and the watermarks between them, arrive at the operators of a slot. Pure.

What one subtask sends arrives in the order in which it was sent. What several send in an epoch arrives one after the
other: all of one, then all of the next. So an operator that makes watermarks out of records may let them take effect
between two records only where those of one sender come; else what the next one sends would be late.
"""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.graph.job_graph import JobEdge, JobGraph
from rekindle.graph.partitioning import Partitioning, rescale_sources


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """Say which operators see their records in the order of one sender.

    Attributes:
        one_sender: The nodes that do, if Spark reads in one task.
        spark_rooted: The nodes whose records come from Spark sources, all or some.
    """

    one_sender: frozenset[int]
    spark_rooted: frozenset[int]

    def holds(self, node: int, spark_tasks: int) -> bool:
        """Return whether a node sees records in the order of one sender, in an epoch with so many tasks of Spark."""
        return node in self.one_sender and (node not in self.spark_rooted or spark_tasks == 1)


def senders(edge: JobEdge, subtask: int, sources: int, targets: int) -> range:
    """Return the subtasks that send to a subtask over an edge, of so many on either side."""
    if not edge.exchange:
        return range(subtask, subtask + 1)
    if edge.partitioner.kind is Partitioning.RESCALE:
        return rescale_sources(subtask, sources, targets)
    return range(sources)


def record_order(graph: JobGraph, subtask: int) -> RecordOrder:
    """Find out which operators of a subtask see their records in the order of one sender."""
    parallelism = {node.id: node.parallelism for node in graph.nodes}
    cluster_fed = {node.id for node in graph.nodes if node.cluster_fed}
    one_sender: set[int] = set()
    spark_rooted = {source.node for source in graph.cluster_sources}
    for node in graph.nodes:
        inputs = graph.inputs(node.id)
        if any(edge.source in spark_rooted for edge in inputs):
            spark_rooted.add(node.id)
        if all(
            edge.source in one_sender
            and (
                edge.source in cluster_fed  # as many senders as Spark has tasks
                or len(senders(edge, subtask, parallelism[edge.source], node.parallelism)) == 1
            )
            for edge in inputs
        ):
            one_sender.add(node.id)
    return RecordOrder(frozenset(one_sender), frozenset(spark_rooted))


def in_band_edges(graph: JobGraph) -> frozenset[int]:
    """Return the edges over which watermarks arrive in their place among the records.

    An operator whose inputs cross different numbers of exchanges sends records in several levels of an epoch. These
    take different ways, and may overtake each other: watermarks between them count when all have arrived.
    """
    sending: dict[int, set[int]] = {}
    for node in graph.nodes:
        here = [sending[edge.source] for edge in graph.inputs(node.id) if not edge.exchange]
        sending[node.id] = {node.level}.union(*here)
    return frozenset(edge.id for edge in graph.edges if not edge.exchange or len(sending[edge.source]) == 1)
