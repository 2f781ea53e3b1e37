"""What of a program the next job runs."""

from __future__ import annotations

from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge, StreamGraph


def written() -> StreamGraph:
    """Write source 0 -> 1 -> 2 and source 3 -> 4."""
    graph = StreamGraph()
    for name, source in (("a", None), ("b", 0), ("c", 1), ("d", None), ("e", 3)):
        graph.add(name, None, () if source is None else (StreamEdge(source, FORWARD),))
    return graph


def shape(graph: StreamGraph) -> list[tuple[int, str, list[int]]]:
    return [(node.id, node.name, [edge.source for edge in node.inputs]) for node in graph.nodes]


def test_the_first_job_runs_all_that_was_written() -> None:
    graph = written()
    assert shape(graph.pending()) == shape(graph)


def test_after_a_job_nothing_is_left_to_run() -> None:
    graph = written()
    graph.submitted = len(graph.nodes)
    assert graph.pending().nodes == []


def test_a_stream_of_an_earlier_job_is_run_again_with_all_it_reads_and_nothing_else() -> None:
    graph = written()
    graph.submitted = len(graph.nodes)
    graph.add("f", None, (StreamEdge(4, FORWARD),))
    assert shape(graph.pending()) == [(0, "d", []), (1, "e", [0]), (2, "f", [1])]


def test_what_is_said_of_an_operator_later_counts() -> None:
    graph = written()
    graph.nodes[1].uid = "named"
    assert graph.pending().nodes[1].uid == "named"


def test_a_source_that_nothing_reads_from_does_not_run() -> None:
    graph = written()
    graph.add("unread", None, ())
    assert shape(graph.pending()) == shape(written())
