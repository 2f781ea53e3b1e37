"""Operators whose uids were derived, and that only their number tells from others alike. Pure.

Where one of them is added, removed or moved, the others are counted differently, and state would be given to another
operator than the one that wrote it. Names tell them apart where there are any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
from rekindle.checkpoint.source_positions import owners_of_positions
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.uids import derived_uid


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
    alike: defaultdict[str, list[JobNode]] = defaultdict(list)
    for node in graph.nodes:
        if node.derived_from is not None:
            alike[node.derived_from].append(node)
    for shape, nodes in alike.items():
        if not any(node.uid in saved for node in nodes):
            continue
        uids = (derived_uid(shape, number) for number in range(max(len(saved), len(graph.nodes))))
        before = [saved[uid] for uid in uids if uid in saved]
        for node in nodes:
            operator = saved.get(node.uid)
            if operator is None or not (operator.stateful or operator.uid in read):
                continue
            if not _is_the_same(node, operator, nodes, before):
                raise StateRestoreError(
                    f"{checkpoint} holds state of {operator.name!r} under uid {operator.uid}, which was derived. "
                    f"The program had {len(before)} operators alike then ({_names(before)}), and has {len(nodes)} now "
                    f"({_names(nodes)}): nobody can tell which of them the state belongs to. Call "
                    f"set_uid_hash({operator.uid!r}) on the one that is to take it over, and give the others uids of "
                    "their own with uid(…)"
                )


def _names(operators: Sequence[JobNode | OperatorMetadata]) -> str:
    return ", ".join(repr(operator.name) for operator in operators)


def _is_the_same(
    node: JobNode, operator: OperatorMetadata, nodes: list[JobNode], before: list[OperatorMetadata]
) -> bool:
    """Return whether an operator is the one that its state is from, as far as the others alike can tell."""
    names, names_before = [other.name for other in nodes], [other.name for other in before]
    if {other.uid for other in nodes} == {other.uid for other in before}:
        return node.name == operator.name or operator.name not in names
    return node.name == operator.name and names.count(node.name) == names_before.count(node.name) == 1
