"""The program as the user wrote it: one node per operator, one edge per input.

:mod:`rekindle.graph.compilation` translates it into what runs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rekindle.graph.partitioning import Partitioner
from rekindle.graph.transformations.sources import ClusterFrame
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Connect an output of a node to the next one.

    ``type_info`` is the type that the program gave to the records, ``tag`` the id of the side output that they come
    from; None: the main output. ``side`` says which input of an operator with two it is.
    """

    source: int
    partitioner: Partitioner
    type_info: TypeInformation | None = None
    tag: str | None = None
    side: int = 0


class Chaining(enum.Enum):
    """Say whether an operator may be chained, which only settles where records are converted to their types."""

    ALWAYS = "always"
    HEAD = "head"  # with those behind it, not with the one before
    NEVER = "never"


class Part(enum.Enum):
    """Say what an operator does for the one that it is a part of; uids are made of the values, so they never change."""

    RECORDS = "records"  # makes records of a source's rows
    WATERMARKS = "watermarks"  # gives a source's records their timestamps and watermarks
    FEEDBACK = "feedback"  # takes what is fed back to the head of a loop
    CRITERION = "termination criterion"  # tells the head of a loop whether to go on


@dataclass(slots=True)
class StreamNode:
    """Describe one operator.

    ``transformation`` travels to the slots, ``data_frame`` stays with the driver. ``typed_input``: records come as
    their type shows them even from the operator right before it, with which it would be chained. ``loop_of`` is the
    head of the iteration that ends here. ``parallel``: whether there may be several subtasks. ``nameable``: whether the
    program gets hold of the operator, and can give it a uid.

    One call of the program may need several operators. The program knows one of them, the *whole*: that which has the
    state, such as the position of a source. What it sets there (name, uid, parallelism and so on) holds for all of
    them. Each other one is a *part*: ``part_of`` is the whole, and ``part`` what it does for it. What is set on a part
    itself does not count, see :func:`with_parts_settled`.
    """

    id: int
    name: str
    transformation: Transformation
    inputs: tuple[StreamEdge, ...]
    parallelism: int | None = None  # None: the environment's
    max_parallelism: int | None = None
    parallel: bool = True
    uid: str | None = None
    data_frame: ClusterFrame | None = None
    bounded: bool = True
    typed_input: bool = False
    loop_of: int | None = None
    part_of: int | None = None
    part: Part | None = None
    nameable: bool = True
    sink: bool = False
    description: str | None = None  # what the plan shows, instead of the name
    chaining: Chaining = Chaining.ALWAYS
    side_outputs: dict[str, TypeInformation] = field(default_factory=dict)  # those that are read, by id of the tag


@dataclass(slots=True)
class StreamGraph:
    """Collect the nodes of a program, in the order in which they were written.

    Attributes:
        nodes: All nodes; the id of one is its index.
        submitted: How many there were when a job was submitted last: a program may go on after it.
    """

    nodes: list[StreamNode] = field(default_factory=list)
    submitted: int = 0

    def add(
        self, name: str, transformation: Transformation, inputs: tuple[StreamEdge, ...], **settings: Any
    ) -> StreamNode:
        """Add a node."""
        node = StreamNode(len(self.nodes), name, transformation, inputs, **settings)
        self.nodes.append(node)
        return node

    def add_part(
        self,
        whole: StreamNode,
        part: Part,
        transformation: Transformation,
        inputs: tuple[StreamEdge, ...],
        **settings: Any,
    ) -> StreamNode:
        """Add a node that does something for another one."""
        return self.add(whole.name, transformation, inputs, part_of=whole.id, part=part, **settings)

    def pending(self) -> StreamGraph:
        """Return what the next job runs: the operators written since the last one, and all they read from.

        A source that nothing reads from does not run, as in Flink.
        """
        written = [node.id for node in self.nodes[self.submitted :] if not of_source(self.nodes, node)]
        needed = ancestors(self.nodes, written)
        while ends := {node.id for node in self.nodes if node.loop_of in needed} - needed:  # a loop is run whole
            needed |= ancestors(self.nodes, ends)
        ids = {old: new for new, old in enumerate(sorted(needed))}
        return StreamGraph(
            [
                replace(
                    self.nodes[old],
                    id=new,
                    inputs=tuple(replace(edge, source=ids[edge.source]) for edge in self.nodes[old].inputs),
                    loop_of=None if (head := self.nodes[old].loop_of) is None else ids[head],
                    part_of=None if (whole := self.nodes[old].part_of) is None else ids[whole],
                )
                for old, new in ids.items()
            ]
        )


def of_source(nodes: Sequence[StreamNode], node: StreamNode) -> bool:
    """Return whether a node is a source, or a part of one."""
    return not (node if node.part_of is None else nodes[node.part_of]).inputs


def with_parts_settled(nodes: Sequence[StreamNode]) -> list[StreamNode]:
    """Return the nodes of a program, the parts with what is set on their wholes.

    No part of a source is chained with what is behind it, as no source is.
    """
    settled = []
    for node in nodes:
        if node.part_of is not None and node.part is not None:
            whole, part = nodes[node.part_of], node.part.value
            node = replace(
                node,
                name=f"{whole.name} ({part})",
                description=whole.description and f"{whole.description} ({part})",
                parallelism=whole.parallelism,
                max_parallelism=whole.max_parallelism,
                chaining=Chaining.NEVER if of_source(nodes, whole) else whole.chaining,
            )
        settled.append(node)
    return settled


def ancestors(nodes: Sequence[StreamNode], of: Iterable[int]) -> set[int]:
    """Return some nodes and all that they read from."""
    found = set(of)
    for node in reversed(nodes):
        if node.id in found:
            found.update(edge.source for edge in node.inputs)
    return found
