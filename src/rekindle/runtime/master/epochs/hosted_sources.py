"""Which slots are polled for the records of sources that live in them."""

from __future__ import annotations

from rekindle.graph.job_graph import JobGraph


def hosts_sources(graph: JobGraph) -> bool:
    """Tell whether any source lives in slots."""
    return any(node.transformation.hosted for node in graph.nodes)


def polled_slots(graph: JobGraph) -> int:
    """Count the slots that have a task in the first level of every epoch: one at least, whoever reads the sources."""
    return max((node.parallelism for node in graph.nodes if node.transformation.hosted), default=1)
