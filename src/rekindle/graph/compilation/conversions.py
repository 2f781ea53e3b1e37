"""Where records are converted to their types: as in PyFlink, between operators that it does not chain.

PyFlink chains functions of Python that follow each other and have one input and one reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rekindle.graph.compilation.parallelism import Parallelism
from rekindle.graph.partitioning import Partitioning
from rekindle.graph.stream_graph import Chaining, StreamEdge, StreamNode, of_source
from rekindle.types.typeinfo import PickledBytesTypeInfo, TypeInformation


class Conversion(NamedTuple):
    """Say how records are converted on an edge.

    Attributes:
        type_info: The type by which they are; None: they arrive as they were sent.
        typed_keys: Whether the key selector sees the records converted, not as they were sent.
    """

    type_info: TypeInformation | None
    typed_keys: bool


def chained_edges(nodes: Sequence[StreamNode], parallelism: Mapping[int, Parallelism]) -> set[tuple[int, int]]:
    """Return the edges between operators that PyFlink chains, by their target and their place among its inputs.

    Rekindle may have an exchange there, behind what Spark reads for instance: it converts nothing either.
    """
    consumers = Counter(edge.source for node in nodes for edge in node.inputs)
    return {
        (node.id, 0)
        for node in nodes
        if len(node.inputs) == 1
        and node.inputs[0].partitioner.kind is Partitioning.FORWARD
        and parallelism[node.inputs[0].source].parallelism == parallelism[node.id].parallelism
        and consumers[node.inputs[0].source] == 1
        and may_be_chained(nodes[node.inputs[0].source], node.inputs[0], node)
    }


def settle_conversions(nodes: Sequence[StreamNode], chained: set[tuple[int, int]]) -> dict[tuple[int, int], Conversion]:
    """Return the conversion on each edge, by its target and its place among the inputs of that."""
    readers = Counter(source for source, _ in _readers(nodes))
    settled: dict[tuple[int, int], Conversion] = {}
    for node in nodes:
        for index, edge in enumerate(node.inputs):
            type_info = None if (node.id, index) in chained else converting(edge.type_info)
            # To PyFlink, a key selector is a function that may be chained as well.
            united = sum(other.partitioner is edge.partitioner for other in node.inputs) > 1
            typed_keys = united or readers[edge.source] > 1 or of_source(nodes, nodes[edge.source])
            settled[node.id, index] = Conversion(type_info, typed_keys)
    return settled


def may_be_chained(source: StreamNode, edge: StreamEdge, target: StreamNode) -> bool:
    """Return whether PyFlink chains two operators, if one is the only reader of the other."""
    return (
        bool(source.inputs)
        and not source.transformation.generates_watermarks
        and edge.tag is None
        and source.chaining is not Chaining.NEVER
        and target.chaining is Chaining.ALWAYS
        and not target.typed_input
    )


def _readers(nodes: Sequence[StreamNode]) -> set[tuple[int, object]]:
    """Return who reads from which node; all that follows one ``key_by`` is one reader."""
    return {
        (edge.source, (node.id, index) if edge.partitioner.key_selector is None else id(edge.partitioner))
        for node in nodes
        for index, edge in enumerate(node.inputs)
    }


def converting(type_info: TypeInformation | None) -> TypeInformation | None:
    """Return a type if records are converted by it: those that are pickled are not."""
    return None if isinstance(type_info, PickledBytesTypeInfo) else type_info
