"""The rule of loops: which operators are in one, and which programs are refused. Pure.

The graph has no cycle. A loop has a head, through which its input comes, and tails, at which feedback leaves the graph;
what arrives at a tail leaves the head of the same slot in the next epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.stream_graph import StreamNode, ancestors


def loop_bodies(nodes: Sequence[StreamNode]) -> dict[int, frozenset[int]]:
    """Return the nodes of each loop of a program, by its head.

    Raises:
        InvalidProgramError: If a loop is not closed, or has another in it.
    """
    closing: dict[int, list[int]] = {node.id: [] for node in nodes if node.transformation.begins_iteration}
    for node in nodes:
        if node.loop_of is not None:
            closing[node.loop_of].append(node.id)
    bodies: dict[int, frozenset[int]] = {}
    for head, ends in closing.items():
        if not ends:
            raise InvalidProgramError(
                f"iteration {nodes[head].name!r} has no feedback: call close_with(stream) on what iterate() returned"
            )
        body = frozenset(_after(nodes, head) & ancestors(nodes, ends) | {head, *ends})
        inner = next((other for other in sorted(body) if other in closing and other != head), None)
        if inner is not None:
            raise InvalidProgramError(
                f"iteration {nodes[inner].name!r} is inside the loop of iteration {nodes[head].name!r}: nested "
                "iterations are not supported. Close the inner one outside the loop, or make both one loop whose "
                "records say what is to be done with them"
            )
        bodies[head] = body
    return bodies


def check_bounded(nodes: Sequence[StreamNode], head: int, body: Iterable[int]) -> None:
    """Raise if something that comes into rounds never ends."""
    for node in sorted(ancestors(nodes, body)):
        if not nodes[node].inputs and not nodes[node].bounded:
            raise InvalidProgramError(
                f"iteration {nodes[head].name!r} runs in rounds, because max_iterations or a termination criterion is "
                f"given, and source {nodes[node].name!r} never ends: round 1 begins when all input is there. Use "
                "bounded sources, or iterate without them"
            )


def _after(nodes: Sequence[StreamNode], of: int) -> set[int]:
    """Return a node and all that read from it."""
    found = {of}
    for node in nodes:
        if any(edge.source in found for edge in node.inputs):
            found.add(node.id)
    return found
