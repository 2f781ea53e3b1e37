"""Operators without uids that only their number tells from others alike. Pure.

Operators are alike if they are of one kind and all that is upstream of them is, up to what has a uid. Where one of them
is added, removed or moved, the others are counted differently, and state would be given to another operator than the
one that wrote it. Names tell them apart where there are any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice, product

from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
from rekindle.checkpoint.source_positions import owners_of_positions
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.operator_shape import OperatorShape

_MOST_COMBINATIONS = 1_000


def check_told_apart(graph: JobGraph, metadata: CheckpointMetadata, checkpoint: str) -> None:
    """Check that each state is given to the operator that wrote it, where uids were derived.

    Args:
        graph: The program.
        metadata: What it takes over.
        checkpoint: What the checkpoint is, for messages.

    Raises:
        StateRestoreError: Nobody can tell.
    """
    moved = owners_of_positions(graph, metadata)
    saved = {operator.uid: operator for operator in metadata.operators if operator.uid not in moved}
    read = {position.uid for position in metadata.positions if position.offsets or position.consumed}
    known = {operator.name for operator in metadata.operators}
    for nodes, before in _alike(graph, saved):
        for node in nodes:
            operator = saved.get(node.uid)
            if operator is None or not (operator.stateful or operator.uid in read):
                continue
            if not _is_the_same(node, operator, nodes, before, known):
                raise StateRestoreError(
                    f"{checkpoint} holds state of {operator.name!r} under uid {operator.uid}, which was derived. Of "
                    f"operators alike the program had {_names(before)} then, and has {_names(nodes)} now: nobody can "
                    f"tell which of them the state belongs to. Call set_uid_hash({operator.uid!r}) on the one that is "
                    "to take it over, and give the others uids of their own with uid(…)"
                )


def _alike(
    graph: JobGraph, saved: Mapping[str, OperatorMetadata]
) -> list[tuple[list[JobNode], list[OperatorMetadata]]]:
    """Group operators that are alike: those of the program, and those of the checkpoint."""
    groups: list[tuple[list[JobNode], list[OperatorMetadata]]] = []
    numbers: dict[object, int] = {}
    group_of: dict[str, int] = {}  # by uid
    for node in graph.nodes:
        shape = node.derived_from
        if shape is None:
            continue
        upstream = tuple((group_of.get(uid, uid), way) for uid, way in shape.inputs)
        number = group_of[node.uid] = numbers.setdefault((shape.kind, upstream), len(groups))
        if number == len(groups):
            ways = [way for _, way in shape.inputs]
            before = [
                [other.uid for other in groups[group][1]] if isinstance(group, int) else [group]
                for group, _ in upstream
            ]
            shapes = {
                OperatorShape(shape.kind, tuple(zip(uids, ways, strict=True)))
                for uids in islice(product(*before), _MOST_COMBINATIONS)
            }
            uids = (shape.uid(place) for shape in shapes for place in range(len(saved) + 1))
            groups.append(([], [saved[uid] for uid in uids if uid in saved]))
        groups[number][0].append(node)
    return groups


def _is_the_same(
    node: JobNode,
    operator: OperatorMetadata,
    nodes: Sequence[JobNode],
    before: Sequence[OperatorMetadata],
    known: Collection[str],
) -> bool:
    """Return whether an operator is the one that its state is from, as far as the others alike and names can tell.

    Where there are as many as there were, it may have been renamed, but not to a name that was known.
    """
    names, names_before = [other.name for other in nodes], [other.name for other in before]
    if {other.uid for other in nodes} == {other.uid for other in before}:
        return node.name == operator.name or (operator.name not in names and node.name not in known)
    return node.name == operator.name and names.count(node.name) == names_before.count(node.name) == 1


def _names(operators: Sequence[JobNode | OperatorMetadata]) -> str:
    return ", ".join(repr(operator.name) for operator in operators)
