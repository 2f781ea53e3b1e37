"""Where the sources of a program stand in a checkpoint. Pure.

A position is stored under the uid of its source. Earlier releases gave the uid of a source with watermarks to the
operator behind it that makes those, and derived one for the source. So in their checkpoints the operator with the uid
comes right behind the one with the position.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from rekindle.checkpoint.metadata import CheckpointMetadata, SourcePosition
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.operator_shape import OperatorShape


def positions_for(graph: JobGraph, metadata: CheckpointMetadata) -> list[SourcePosition]:
    """Return where sources stand, under the uids that a program has for them."""
    owners = owners_of_positions(graph, metadata)
    return [
        msgspec.structs.replace(position, uid=owners.get(position.uid, position.uid)) for position in metadata.positions
    ]


def owners_of_positions(graph: JobGraph, metadata: CheckpointMetadata) -> dict[str, str]:
    """Return the uid of the source that a position belongs to which is stored under another one, by that one.

    Raises:
        StateRestoreError: It may also be the position of a source without a uid.
    """
    nodes = {node.uid: node for node in graph.nodes}
    read = {source.uid for source in graph.cluster_sources}
    stored = {position.uid for position in metadata.positions}
    owners: dict[str, str] = {}
    for operator, behind in pairwise(metadata.operators):
        node = nodes.get(behind.uid)
        if operator.uid not in stored or behind.uid in stored or behind.uid not in read or node is None:
            continue
        shape = OperatorShape(node.transformation.uid_kind)
        if operator.uid not in map(shape.uid, range(len(metadata.operators))):
            continue
        other = nodes.get(operator.uid)
        if other is None:
            owners[operator.uid] = behind.uid
        elif other.derived_from is not None:
            raise StateRestoreError(
                f"checkpoint {metadata.checkpoint_id} of job {metadata.job_name!r} holds the position of source "
                f"{operator.name!r} under uid {operator.uid}, which was derived for it. It may belong to source "
                f"{node.name!r} (uid {node.uid}) or to source {other.name!r}, for which the program derives that uid "
                f"now. Give {other.name!r} a uid: set_uid_hash({operator.uid!r}) if the position is its own, and any "
                "other one with uid(…) if it is not"
            )
    return owners
