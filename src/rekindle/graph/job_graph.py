"""The job as it runs: operators in levels, edges that stay in a slot or cross an exchange. Pure.

The graph is cut at every exchange. ``level`` counts the exchanges on the longest way from a source; one epoch runs the
levels one after the other, each as one Spark stage. Operators without an exchange between them run in the same slot,
one chunk of records after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.key_groups import check_parallelism, default_max_parallelism
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.iterations import JobIteration, check_bounded, loop_bodies
from rekindle.graph.partitioning import REBALANCE, RESCALE, Partitioner, Partitioning
from rekindle.graph.stream_graph import Chaining, StreamGraph, StreamNode
from rekindle.graph.transformations.loops import LoopTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.graph.uids import assign_uids
from rekindle.types.typeinfo import PickledBytesTypeInfo, TypeInformation


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
class JobNode:
    """Describe an operator that runs in the slots 0 to ``parallelism`` - 1.

    ``spark_fed``: its records come from a Spark source without an exchange in between, in any number of tasks an epoch.
    ``batch_memory``: in a batch job, how many records it may hold in memory if it gathers its input.
    """

    id: int
    uid: str
    name: str
    transformation: Transformation
    parallelism: int
    max_parallelism: int
    explicit_max_parallelism: bool
    level: int
    spark_fed: bool
    batch_memory: int | None = None


@dataclass(frozen=True, slots=True)
class SparkSource:
    """Point from an operator to the DataFrame that feeds it.

    ``described``: what makes the DataFrame in another session; None: only the program could.
    """

    node: int
    uid: str
    data_frame: Any
    bounded: bool
    described: Any = None


@dataclass(frozen=True, slots=True)
class JobGraph:
    """Hold all nodes in topological order, all edges by id, the DataFrames at the sources, and the loops.

    ``batch``: the operators are those of a batch job, and there are no watermarks but the end.
    """

    nodes: tuple[JobNode, ...]
    edges: tuple[JobEdge, ...]
    spark_sources: tuple[SparkSource, ...]
    iterations: tuple[JobIteration, ...] = ()
    batch: bool = False

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
        """Tell whether records ever leave their slot."""
        return any(edge.exchange for edge in self.edges)

    def inputs(self, node: int) -> list[JobEdge]:
        """Give the edges into a node, by input index."""
        return [edge for edge in self.edges if edge.target == node]

    def outputs(self, node: int) -> list[JobEdge]:
        """Give the edges out of a node."""
        return [edge for edge in self.edges if edge.source == node]


def compile_job(graph: StreamGraph, parallelism: int, max_parallelism: int | None) -> JobGraph:
    """Translate a program: assign uids, settle parallelism, cut at the exchanges."""
    if not graph.nodes:
        raise InvalidProgramError("no operators are defined in this program: there is nothing to execute")
    uids = assign_uids(graph.nodes)
    bodies = loop_bodies(graph.nodes)
    settled = {node.id: _parallelism(node, parallelism, max_parallelism) for node in graph.nodes}
    # What ends a loop is beside its head, in the same slots.
    settled |= {node.id: settled[node.loop_of] for node in graph.nodes if node.loop_of is not None}
    local = all(node.data_frame is None for node in graph.nodes)
    consumers = Counter(edge.source for node in graph.nodes for edge in node.inputs)
    readers = Counter(source for source, _ in _readers(graph))
    roots = {node.id for node in graph.nodes if not node.inputs}
    timed = {node.id: node.transformation.generates_watermarks for node in graph.nodes}
    unasked = {node.id: node.transformation.emits_unasked for node in graph.nodes}
    before_watermarks = _before(graph.nodes, (node for node, generates in timed.items() if generates))
    spark_fed: dict[int, bool] = {}  # nodes in a slot with a Spark source, no exchange between them
    nodes: list[JobNode] = []
    edges: list[JobEdge] = []
    levels: dict[int, int] = {}
    for node in graph.nodes:
        own = settled[node.id]
        level = 0
        fed = {spark_fed[edge.source] for edge in node.inputs}
        for index, edge in enumerate(node.inputs):
            upstream = settled[edge.source]
            partitioner = edge.partitioner
            if partitioner.kind is Partitioning.FORWARD and upstream[0] != own[0]:
                if partitioner.asked_for:
                    raise _forward_between(graph.nodes[edge.source].name, upstream[0], node.name, own[0])
                partitioner = REBALANCE
            apart = len(fed) > 1 or timed[node.id] or unasked[node.id]
            if partitioner.kind is Partitioning.FORWARD and spark_fed[edge.source] and apart:
                # Only an exchange tells when all tasks of a Spark source are done. Those of one task keep their order,
                # except where watermarks follow: a subtask that gets no records would hold them back.
                partitioner = REBALANCE if node.id in before_watermarks and not partitioner.asked_for else RESCALE
            if partitioner.kind is Partitioning.FORWARD and node.id in bodies and not (local or levels[edge.source]):
                # Level 0 has no task in each epoch where Spark has sources, and a loop goes on in each.
                partitioner = RESCALE
            # With one subtask on both sides there is nothing to exchange, unless a Spark source, which has many tasks
            # even then, feeds the job.
            exchange = partitioner.kind is not Partitioning.FORWARD and not (local and own[0] == upstream[0] == 1)
            # PyFlink chains functions of Python that follow each other and have one input and one reader.
            alone = consumers[edge.source] == len(node.inputs) == 1 and edge.source not in roots
            alone = alone and not timed[edge.source] and edge.tag is None
            alone = (
                alone and graph.nodes[edge.source].chaining is not Chaining.NEVER and node.chaining is Chaining.ALWAYS
            )
            chained = partitioner.kind is Partitioning.FORWARD and alone and not node.typed_input
            type_info = None if chained else _converting(edge.type_info)
            # To it, a key selector is such a function as well.
            united = sum(other.partitioner is edge.partitioner for other in node.inputs) > 1
            typed_keys = united or readers[edge.source] > 1 or edge.source in roots
            edges.append(
                JobEdge(
                    len(edges),
                    edge.source,
                    node.id,
                    index,
                    partitioner,
                    exchange,
                    type_info,
                    edge.tag,
                    edge.side,
                    typed_keys,
                )
            )
            level = max(level, levels[edge.source] + exchange)
        spark_fed[node.id] = node.data_frame is not None or (level == 0 and True in fed)
        levels[node.id] = level
        nodes.append(JobNode(node.id, uids[node.id], node.name, node.transformation, *own, level, spark_fed[node.id]))
    sources = tuple(
        SparkSource(node.id, uids[node.id], node.data_frame, node.bounded)
        for node in graph.nodes
        if node.data_frame is not None
    )
    iterations = tuple(_iteration(graph, head, body, edges, levels) for head, body in bodies.items())
    return JobGraph(tuple(nodes), tuple(edges), sources, iterations)


def _before(nodes: Sequence[StreamNode], of: Iterable[int]) -> set[int]:
    """Give some nodes and all whose records come to them as they were dealt out."""
    found = set(of)
    for node in reversed(nodes):
        if node.id in found:
            found.update(edge.source for edge in node.inputs if edge.partitioner.kind is Partitioning.FORWARD)
    return found


def _iteration(
    graph: StreamGraph, head: int, body: frozenset[int], edges: list[JobEdge], levels: dict[int, int]
) -> JobIteration:
    transformation = graph.nodes[head].transformation
    assert isinstance(transformation, LoopTransformation)
    loop = transformation.loop
    if loop.supersteps:
        check_bounded(graph.nodes, head, body)
    into = [edge for edge in edges if edge.target in body]
    entries = tuple(edge for edge in into if edge.source not in body)
    stays = len({levels[node] for node in body}) == 1
    return JobIteration(head, body, entries, loop.supersteps, loop.max_iterations, loop.has_criterion, stays)


def _forward_between(source: str, sources: int, target: str, targets: int) -> InvalidProgramError:
    return InvalidProgramError(
        f"forward() does not allow a change of parallelism: {source!r} has {sources} subtasks and {target!r} has "
        f"{targets}. Give both the same, or use another partitioning: rescale, rebalance, shuffle, broadcast or global_"
    )


def _readers(graph: StreamGraph) -> set[tuple[int, object]]:
    """Give who reads from which node; all that follows one ``key_by`` is one reader."""
    return {
        (edge.source, (node.id, index) if edge.partitioner.key_selector is None else id(edge.partitioner))
        for node in graph.nodes
        for index, edge in enumerate(node.inputs)
    }


def _converting(type_info: TypeInformation | None) -> TypeInformation | None:
    """Give a type if records are converted by it: those that are pickled are not."""
    return None if isinstance(type_info, PickledBytesTypeInfo) else type_info


def _parallelism(node: StreamNode, default: int, default_max: int | None) -> tuple[int, int, bool]:
    parallelism = default if node.parallelism is None else node.parallelism
    explicit = node.max_parallelism if node.max_parallelism is not None else default_max
    max_parallelism = explicit if explicit is not None else default_max_parallelism(parallelism)
    check_parallelism(parallelism, max_parallelism)
    return parallelism, max_parallelism, explicit is not None
