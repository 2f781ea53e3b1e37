"""Where the barriers of a job may stand. Pure."""

from __future__ import annotations

from rekindle.graph.job_graph import JobGraph


def only_between_epochs(graph: JobGraph) -> bool:
    """Return whether a barrier in the middle of an epoch could lose records, even if some may be seen twice.

    In the middle of an epoch, what an operator has sent but the next has not seen is in no snapshot. Replaying the
    sources brings it again only if the sender keeps nothing: so there may be one exchange only, behind operators that
    do not. What is in a loop is in a snapshot only between two epochs. A source that moves by itself knows no position
    but the present one.
    """
    return (
        graph.levels != 2
        or bool(graph.iterations)
        or any(node.transformation.moves_by_itself for node in graph.nodes)
        or any(node.level == 0 and node.transformation.keeps_records() for node in graph.nodes)
    )
