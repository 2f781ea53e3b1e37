"""Which operators are in a loop, where its ends are, and what of it the next job runs."""

from __future__ import annotations

import pytest

from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import FORWARD, Partitioning
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.sources import RowsTransformation


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def named(job: JobGraph, inside: bool) -> set[str]:
    return {node.name for node in job.nodes if job.in_iteration(node.id) is inside}


def test_a_loop_has_what_is_between_its_head_and_its_ends() -> None:
    env = environment()
    before = env.from_collection([1]).map(lambda n: n).name("before")
    beside = env.from_collection([1]).map(lambda n: n).name("beside")
    loop = before.iterate()
    body = loop.union(beside).key_by(lambda n: n).map(lambda n: n).name("body")
    criterion = loop.filter(lambda n: n > 1).name("criterion")
    body.map(lambda n: n).name("after").print()
    last = loop.close_with(body.filter(lambda n: n > 0).name("feedback"), criterion)
    last.name("last")
    job = compile_job(env._graph, 2, None)
    inside = {"Iteration", "body", "criterion", "feedback", "Iteration (feedback)", "Iteration (termination criterion)"}
    assert named(job, inside=True) == inside
    assert named(job, inside=False) >= {"before", "beside", "after", "last"}
    names = {node.id: node.name for node in job.nodes}
    entries = [(names[edge.source], names[edge.target]) for edge in job.iterations[0].entries]
    assert entries == [("before", "Iteration"), ("beside", "body")]


def test_the_ends_of_a_loop_are_beside_its_head() -> None:
    env = environment()
    loop = env.from_collection([1]).iterate()
    loop.set_parallelism(3)
    loop.close_with(loop.map(lambda n: n).set_parallelism(2))
    job = compile_job(env._graph, 4, None)
    assert [node.parallelism for node in job.nodes] == [1, 3, 2, 3]


@pytest.mark.parametrize("with_spark", [False, True])
def test_a_head_is_in_level_0_only_where_level_0_runs_in_every_epoch(with_spark: bool) -> None:
    env = environment()
    loop = env.from_collection([1]).iterate()
    loop.set_parallelism(1)
    loop.close_with(loop.map(lambda n: n).set_parallelism(1))
    if with_spark:
        frame = env._graph.add("frame", RowsTransformation(), (), data_frame="stands for one", uid="frame")
        DataStream(env, (StreamEdge(frame.id, FORWARD),), frame).print()
    job = compile_job(env._graph, 2, None)
    [into_head] = job.inputs(job.iterations[0].head)
    assert into_head.partitioner.kind is (Partitioning.RESCALE if with_spark else Partitioning.FORWARD)
    assert job.nodes[job.iterations[0].head].level == with_spark


def test_a_loop_of_an_earlier_job_is_run_again_whole() -> None:
    env = environment()
    env.from_collection([0]).name("not needed").print()
    loop = env.from_collection([1]).iterate()
    loop.close_with(loop.map(lambda n: n).name("feedback"))
    env._graph.submitted = len(env._graph.nodes)
    loop.map(lambda n: n).name("new").print()
    pending = env._graph.pending()
    names = [node.name for node in pending.nodes]
    assert "not needed" not in names
    job = compile_job(pending, 1, None)
    assert {"Iteration", "feedback", "Iteration (feedback)", "new"} <= {node.name for node in job.nodes}
    assert job.nodes[job.iterations[0].head].name == "Iteration"
