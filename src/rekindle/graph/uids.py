"""Operator uids: given by the user, or derived from the shape of the graph so that they are stable while it is."""

from __future__ import annotations

import hashlib

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.stream_graph import StreamEdge, StreamNode


def assign_uids(nodes: list[StreamNode]) -> dict[int, str]:
    """Return the uid of every node, by node id.

    A derived uid depends on the kind of the operator, on the uids of its inputs and on how many alike were written
    before it; it does not depend on names, parallelism or the code of functions. A source in two halves has its uid in
    the first, which has the position.
    """
    given = {node.id: node.uid for node in nodes}
    for node in nodes:
        if node.part_of is not None:
            given[node.id], given[node.part_of] = given[node.part_of], None
    uids: dict[int, str] = {}
    owners: dict[str, StreamNode] = {}
    seen: dict[str, int] = {}
    for node in nodes:
        own = given[node.id]
        if own is not None:
            uid = own
        else:
            inputs = ",".join(f"{uids[edge.source]}:{_way(edge)}" for edge in node.inputs)
            shape = f"{node.transformation.uid_kind}({inputs})"
            position = seen[shape] = seen.get(shape, -1) + 1
            uid = hashlib.blake2b(f"{shape}#{position}".encode(), digest_size=16).hexdigest()
        other = owners.setdefault(uid, node)
        if other is not node:
            raise InvalidProgramError(
                f"uid {uid!r} is used by two operators, {other.name!r} and {node.name!r}; "
                "state is found again by uid, so each operator needs one of its own"
            )
        uids[node.id] = uid
    return uids


def require_uids(nodes: list[StreamNode]) -> None:
    """Raise if an operator has no uid of its own, for programs that want none to be derived."""
    without = [
        node.name for node in nodes if node.uid is None and node.part_of is None and node.transformation.needs_uid
    ]
    if without:
        raise InvalidProgramError(
            "Auto generated UIDs have been disabled but no UID or hash has been assigned to operator "
            f"{', '.join(repr(name) for name in without)}; call uid() on it"
        )


def _way(edge: StreamEdge) -> str:
    kind = edge.partitioner.kind.value + "/1" * edge.side
    return kind if edge.tag is None else f"{kind}:{edge.tag}"
