"""Where records leave their slot, and how many times they have on their way to each operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rekindle.graph.compilation.parallelism import Parallelism
from rekindle.graph.partitioning import Partitioner, Partitioning
from rekindle.graph.stream_graph import StreamNode


class Levels:
    """Cut the graph at its exchanges, node after node.

    Attributes:
        local: Whether all sources are in the slots.
        level: The number of exchanges on the longest way to each node.
        cluster_fed: Whether a node is in a slot with a Spark source, with no exchange between them.
        exchanges: Whether records leave their slot on each edge, by its target and its place among the inputs of that.
    """

    def __init__(self, nodes: Sequence[StreamNode], parallelism: Mapping[int, Parallelism]) -> None:
        self.local = all(node.data_frame is None for node in nodes)
        self.level: dict[int, int] = {}
        self.cluster_fed: dict[int, bool] = {}
        self.exchanges: dict[tuple[int, int], bool] = {}
        self._parallelism = parallelism

    def add(self, node: StreamNode, partitioners: Sequence[Partitioner]) -> None:
        """Place a node behind its inputs, given how their records are dealt out."""
        level = 0
        for index, (edge, partitioner) in enumerate(zip(node.inputs, partitioners, strict=True)):
            exchange = self._leaves(partitioner, edge.source, node.id)
            self.exchanges[node.id, index] = exchange
            level = max(level, self.level[edge.source] + exchange)
        self.level[node.id] = level
        fed = any(self.cluster_fed[edge.source] for edge in node.inputs)
        self.cluster_fed[node.id] = node.data_frame is not None or (level == 0 and fed)

    def _leaves(self, partitioner: Partitioner, source: int, target: int) -> bool:
        """Return whether records leave their slot.

        With one subtask on both sides there is nothing to exchange, unless a Spark source, which has many tasks even
        then, feeds the job.
        """
        if partitioner.kind is Partitioning.FORWARD:
            return False
        alone = self._parallelism[source].parallelism == self._parallelism[target].parallelism == 1
        return not (self.local and alone)
