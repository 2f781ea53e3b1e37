"""Operator uids: given by the user, or derived from the shape of the graph so that they are stable while it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.operator_shape import OperatorShape
from rekindle.graph.stream_graph import Part, StreamEdge, StreamNode


class Uid(NamedTuple):
    """Hold the uid of an operator.

    Attributes:
        uid: The uid.
        derived_from: What it is derived from; None: it was given.
    """

    uid: str
    derived_from: OperatorShape | None = None


def assign_uids(nodes: Sequence[StreamNode]) -> dict[int, Uid]:
    """Return the uid of every node, by node id.

    A derived uid depends on the kind of the operator, on the uids of its inputs and on how many alike were written
    before it; it does not depend on names, parallelism or the code of functions. The uid of a part is derived likewise,
    unless the whole has a uid: then it is made of that.
    """
    derived = _derived_uids(nodes)
    parts: dict[tuple[int, Part], int] = {}
    uids: dict[int, Uid] = {}
    owners: dict[str, StreamNode] = {}
    for node in nodes:
        uid = derived[node.id]
        if node.part_of is None or node.part is None:
            uid = uid if node.uid is None else Uid(node.uid)
        elif (whole := nodes[node.part_of].uid) is not None:
            number = parts[node.part_of, node.part] = parts.get((node.part_of, node.part), 0) + 1
            uid = Uid(f"{whole}:{node.part.value}" + (f" {number}" if number > 1 else ""))
        other = owners.setdefault(uid.uid, node)
        if other is not node:
            raise InvalidProgramError(
                f"uid {uid.uid!r} is used by two operators, {other.name!r} and {node.name!r}; "
                "state is found again by uid, so each operator needs one of its own"
            )
        uids[node.id] = uid
    return uids


def require_uids(nodes: Sequence[StreamNode]) -> None:
    """Raise if an operator has no uid of its own, for programs that want none to be derived."""
    without = [node.name for node in nodes if node.uid is None and node.part_of is None and node.nameable]
    if without:
        raise InvalidProgramError(
            "Auto generated UIDs have been disabled but no UID or hash has been assigned to operator "
            f"{', '.join(repr(name) for name in without)}; call uid() on it"
        )


def _derived_uids(nodes: Sequence[StreamNode]) -> dict[int, Uid]:
    """Return what each uid would be that is not given, and what uids behind it are derived from.

    To what is behind it, a source that has a part for its watermarks has its uid there, and none itself: savepoints
    exist in which the uids of others were counted and derived so.
    """
    given = {node.id: node.uid for node in nodes}
    for node in nodes:
        if node.part is Part.WATERMARKS and node.part_of is not None:
            given[node.id], given[node.part_of] = given[node.part_of], None
    uids: dict[int, Uid] = {}
    seen: dict[OperatorShape, int] = {}
    for node in nodes:
        own = given[node.id]
        if own is not None:
            uids[node.id] = Uid(own)
            continue
        inputs = tuple((uids[edge.source].uid, _way(edge)) for edge in node.inputs)
        shape = OperatorShape(node.transformation.uid_kind, inputs)
        before = seen[shape] = seen.get(shape, -1) + 1
        uids[node.id] = Uid(shape.uid(before), shape)
    return uids


def _way(edge: StreamEdge) -> str:
    kind = edge.partitioner.kind.value + "/1" * edge.side
    return kind if edge.tag is None else f"{kind}:{edge.tag}"
