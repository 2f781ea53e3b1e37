"""The job as it runs: operators in levels, edges that stay in a slot or cross an exchange. Pure.

The graph is cut at every exchange. ``level`` counts the exchanges on the longest way from a source; one epoch runs the
levels one after the other, each as one Spark stage. Operators without an exchange between them run in the same slot,
one chunk of records after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rekindle.columns.chains import ColumnChain
from rekindle.columns.folds import Fold
from rekindle.columns.window_grid import WindowGrid
from rekindle.graph.operator_shape import OperatorShape
from rekindle.graph.partitioning import Partitioner
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.typeinfo import TypeInformation

if TYPE_CHECKING:  # Spark's Python workers import this module, and need no sources
    from rekindle.graph.transformations.sources import ClusterFrame, DescribedFrame


@dataclass(frozen=True, slots=True)
class JobEdge:
    """Connect two operators.

    Attributes:
        id: The position among all edges.
        source: The node that sends.
        target: The node that receives.
        input: The index of this edge among the inputs of ``target``.
        partitioner: How records are dealt out.
        exchange: Whether they leave their slot.
        type_info: The type by which records are converted on their way; None: they arrive as they were sent.
        tag: The id of the side output that the records come from; None: the main output.
        side: Which input of an operator with two it is, 0 or 1. Either may have several edges.
        typed_keys: Whether the key selector sees the records converted, not as they were sent.
    """

    id: int
    source: int
    target: int
    input: int
    partitioner: Partitioner
    exchange: bool
    type_info: TypeInformation | None = None
    tag: str | None = None
    side: int = 0
    typed_keys: bool = False


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """Say how an operator processes records that come as columns.

    Attributes:
        fold: What its function does.
        grid: The windows in which it does that; None: it has none.
    """

    fold: Fold
    grid: WindowGrid | None = None


@dataclass(frozen=True, slots=True)
class JobNode:
    """Describe an operator that runs in the slots 0 to ``parallelism`` - 1.

    ``cluster_fed``: a source that the cluster reads feeds it without an exchange in between, in any number of tasks an
    epoch.
    ``batch_memory``: in a batch job, how many records it may hold in memory if it gathers its input.
    ``columns``: how it processes records that come as columns; None: one by one. ``path``: the same, and why, in words.
    ``derived_from``: what its uid is derived from; None: the program has given it.
    """

    id: int
    uid: str
    name: str
    transformation: Transformation
    parallelism: int
    max_parallelism: int
    explicit_max_parallelism: bool
    level: int
    cluster_fed: bool
    batch_memory: int | None = None
    columns: NodeColumns | None = None
    path: str = "records"
    derived_from: OperatorShape | None = None


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """Point from an operator to what the cluster reads for it.

    ``data_frame`` stays with the driver: it is None in the slots. ``described``: what makes the DataFrame in another
    session; None: only the program could.
    """

    node: int
    uid: str
    data_frame: ClusterFrame | None
    bounded: bool
    described: DescribedFrame | None = None


@dataclass(frozen=True, slots=True)
class JobIteration:
    """Describe one loop.

    Attributes:
        head: The node through which records come into it.
        body: All nodes of it: the head, the tails, the termination criterion and what is between.
        entries: The edges that come from outside, among them those into the head.
        supersteps: Whether all of a round is done before the next one begins.
        max_iterations: The number of rounds, at most.
        has_criterion: Whether a stream of the loop tells when no more rounds are needed: when it is empty.
        stays: Whether records stay in their slot, and in one level, all the way round.
    """

    head: int
    body: frozenset[int]
    entries: tuple[JobEdge, ...]
    supersteps: bool
    max_iterations: int | None
    has_criterion: bool
    stays: bool = False


@dataclass(frozen=True, slots=True)
class JobGraph:
    """Hold all nodes in topological order, all edges by id, the DataFrames at the sources, and the loops.

    ``batch``: the operators are those of a batch job, and there are no watermarks but the end. ``chains``: what the
    cluster does itself with the records that it reads, by columns.
    """

    nodes: tuple[JobNode, ...]
    edges: tuple[JobEdge, ...]
    cluster_sources: tuple[ClusterSource, ...]
    iterations: tuple[JobIteration, ...] = ()
    batch: bool = False
    chains: tuple[ColumnChain, ...] = ()

    @property
    def slots(self) -> int:
        """Count the slots the job needs."""
        return max(node.parallelism for node in self.nodes)

    @property
    def levels(self) -> int:
        """Count the levels; the last one is ``levels - 1``."""
        return 1 + max(node.level for node in self.nodes)

    @property
    def has_exchange(self) -> bool:
        """Return whether records ever leave their slot."""
        return any(edge.exchange for edge in self.edges)

    def inputs(self, node: int) -> list[JobEdge]:
        """Return the edges into a node, by input index."""
        return [edge for edge in self.edges if edge.target == node]

    def outputs(self, node: int) -> list[JobEdge]:
        """Return the edges out of a node."""
        return [edge for edge in self.edges if edge.source == node]

    def in_iteration(self, node: int) -> bool:
        """Return whether an operator is in a loop: it sees records again, and a round's end is no end of its input."""
        return any(node in iteration.body for iteration in self.iterations)

    @property
    def hosts_sources(self) -> bool:
        """Return whether any source lives in the slots."""
        return any(node.transformation.hosted for node in self.nodes)

    @property
    def polled_slots(self) -> int:
        """Count the slots that have a task in the first level of every epoch; one at least."""
        return max((node.parallelism for node in self.nodes if node.transformation.hosted), default=1)
