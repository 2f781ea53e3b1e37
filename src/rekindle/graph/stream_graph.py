"""The program as the user wrote it: one node per operator, one edge per input.

:mod:`rekindle.graph.job_graph` translates it into what runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rekindle.common.type_information import TypeInformation
from rekindle.graph.partitioning import Partitioner


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Connect the output of a node to the next one. ``type_info`` is the type that the program gave to the records."""

    source: int
    partitioner: Partitioner
    type_info: TypeInformation | None = None


@dataclass(slots=True)
class StreamNode:
    """Describe one operator.

    ``operator`` travels to the slots, ``data_frame`` stays with the driver. ``typed_input``: records come as their type
    shows them even from the operator right before it, with which it would be chained.
    """

    id: int
    name: str
    operator: Any
    inputs: tuple[StreamEdge, ...]
    parallelism: int | None = None  # None: the environment's
    max_parallelism: int | None = None
    uid: str | None = None
    data_frame: Any = None
    bounded: bool = True
    typed_input: bool = False


@dataclass(slots=True)
class StreamGraph:
    """Collect the nodes of a program, in the order in which they were written."""

    nodes: list[StreamNode] = field(default_factory=list)

    def add(self, name: str, operator: Any, inputs: tuple[StreamEdge, ...], **settings: Any) -> StreamNode:
        """Add a node."""
        node = StreamNode(len(self.nodes), name, operator, inputs, **settings)
        self.nodes.append(node)
        return node
