"""From the program to the job: levels, exchanges, parallelism, uids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.partitioning import FORWARD, REBALANCE, RESCALE, Partitioner, Partitioning
from rekindle.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from rekindle.graph.transformations.transformation import Transformation

HASH = Partitioner(Partitioning.HASH, lambda record: record)
FRAME = object()  # stands for a DataFrame; the graph only asks whether there is one


class Source(Transformation):
    """Stand for an operator; the graph looks at its kind and its flags alone."""

    kind = "Source"


class Map(Transformation):
    kind = "Map"


class Reduce(Transformation):
    kind = "Reduce"


class Sink(Transformation):
    kind = "Sink"


class Program:
    """Write a program, node by node."""

    def __init__(self) -> None:
        self.graph = StreamGraph()

    def add(
        self, operator: Any, *inputs: tuple[StreamNode, Partitioner], name: str | None = None, **settings: Any
    ) -> StreamNode:
        edges = tuple(StreamEdge(node.id, partitioner) for node, partitioner in inputs)
        return self.graph.add(name or type(operator).__name__, operator, edges, **settings)

    def source(self, **settings: Any) -> StreamNode:
        return self.add(Source(), **settings)

    def spark_source(self, **settings: Any) -> StreamNode:
        return self.add(Source(), data_frame=FRAME, **settings)

    def compile(self, parallelism: int = 2, max_parallelism: int | None = None) -> JobGraph:
        return compile_job(self.graph, parallelism, max_parallelism)


def node_of(job: JobGraph, node: StreamNode) -> JobNode:
    return next(compiled for compiled in job.nodes if compiled.id == node.id)


class TestExchangesAndLevels:
    def test_operators_without_an_exchange_between_them_are_on_one_level(self) -> None:
        program = Program()
        source = program.source()
        mapped = program.add(Map(), (source, FORWARD))
        program.add(Sink(), (mapped, FORWARD))
        job = program.compile()
        assert [node.level for node in job.nodes] == [0, 0, 0]
        assert (job.levels, job.has_exchange) == (1, False)

    @pytest.mark.parametrize("partitioner", [HASH, REBALANCE], ids=["hash", "rebalance"])
    def test_an_exchange_starts_the_next_level(self, partitioner: Partitioner) -> None:
        program = Program()
        source = program.source()
        reduced = program.add(Reduce(), (source, partitioner))
        program.add(Sink(), (reduced, FORWARD))
        job = program.compile()
        assert [node.level for node in job.nodes] == [0, 1, 1]
        assert [edge.exchange for edge in job.edges] == [True, False]
        assert (job.levels, job.has_exchange) == (2, True)

    def test_a_level_counts_the_exchanges_on_the_longest_way_from_a_source(self) -> None:
        program = Program()
        source = program.source()
        near = program.add(Map(), (source, FORWARD))
        far = program.add(Reduce(), (program.add(Reduce(), (source, HASH)), HASH))
        meeting = program.add(Map(), (near, FORWARD), (far, FORWARD))
        job = program.compile()
        assert node_of(job, far).level == 2
        assert node_of(job, meeting).level == 2
        assert job.levels == 3

    def test_a_forward_edge_between_different_parallelisms_becomes_a_rebalance(self) -> None:
        program = Program()
        source = program.source(parallelism=1)
        program.add(Map(), (source, FORWARD))
        (edge,) = program.compile(parallelism=2).edges
        assert (edge.partitioner, edge.exchange) == (REBALANCE, True)

    def test_a_forward_edge_between_equal_parallelisms_stays_in_the_slot(self) -> None:
        program = Program()
        program.add(Map(), (program.source(), FORWARD))
        (edge,) = program.compile(parallelism=2).edges
        assert (edge.partitioner, edge.exchange) == (FORWARD, False)

    @pytest.mark.parametrize("partitioner", [HASH, REBALANCE], ids=["hash", "rebalance"])
    def test_at_parallelism_one_nothing_is_exchanged(self, partitioner: Partitioner) -> None:
        program = Program()
        program.add(Reduce(), (program.source(), partitioner))
        job = program.compile(parallelism=1)
        assert [edge.exchange for edge in job.edges] == [False]
        assert job.edges[0].partitioner is partitioner, "a keyed edge still gives keys"
        assert job.levels == 1

    def test_at_parallelism_one_a_spark_source_keeps_its_exchanges(self) -> None:
        program = Program()
        program.add(Reduce(), (program.spark_source(), HASH))
        assert [edge.exchange for edge in program.compile(parallelism=1).edges] == [True]

    def test_a_spark_source_anywhere_in_the_job_keeps_all_exchanges(self) -> None:
        program = Program()
        program.add(Reduce(), (program.source(), HASH))
        program.add(Sink(), (program.spark_source(), FORWARD))
        assert [edge.exchange for edge in program.compile(parallelism=1).edges] == [True, False]

    def test_an_exchange_between_one_subtask_and_many_stays(self) -> None:
        program = Program()
        source = program.source(parallelism=1)
        program.add(Reduce(), (program.add(Map(), (source, REBALANCE), parallelism=2), HASH), parallelism=1)
        assert [edge.exchange for edge in program.compile().edges] == [True, True]

    def test_inputs_come_by_index_and_outputs_by_source(self) -> None:
        program = Program()
        first, second = program.source(), program.source()
        joined = program.add(Map(), (second, FORWARD), (first, HASH), (first, FORWARD))
        job = program.compile()
        assert [(edge.source, edge.input) for edge in job.inputs(joined.id)] == [
            (second.id, 0),
            (first.id, 1),
            (first.id, 2),
        ]
        assert [edge.input for edge in job.outputs(first.id)] == [1, 2]
        assert [edge.id for edge in job.edges] == list(range(3))

    def test_a_program_without_operators_is_refused(self) -> None:
        with pytest.raises(InvalidProgramError, match="there is nothing to execute"):
            Program().compile()


class TestSparkSources:
    def test_what_follows_a_spark_source_without_an_exchange_is_fed_by_it(self) -> None:
        program = Program()
        source = program.spark_source()
        mapped = program.add(Map(), (source, FORWARD))
        reduced = program.add(Reduce(), (mapped, HASH))
        hosted = program.source()
        job = program.compile()
        fed = {node.id: node.cluster_fed for node in job.nodes}
        assert fed == {source.id: True, mapped.id: True, reduced.id: False, hosted.id: False}

    def test_the_union_of_spark_fed_streams_stays_in_the_slot(self) -> None:
        program = Program()
        union = program.add(Map(), (program.spark_source(), FORWARD), (program.spark_source(), FORWARD))
        job = program.compile()
        assert [edge.exchange for edge in job.edges] == [False, False]
        assert node_of(job, union).cluster_fed

    def test_the_union_of_a_spark_fed_and_a_hosted_stream_exchanges_the_spark_fed_one(self) -> None:
        program = Program()
        spark, hosted = program.spark_source(), program.source()
        union = program.add(Map(), (spark, FORWARD), (hosted, FORWARD))
        job = program.compile()
        from_spark, from_hosted = job.inputs(union.id)
        assert (from_spark.partitioner, from_spark.exchange) == (RESCALE, True)  # so rows of a task keep their order
        assert (from_hosted.partitioner, from_hosted.exchange) == (FORWARD, False)
        assert node_of(job, union).level == 1
        assert not node_of(job, union).cluster_fed

    def test_rows_are_dealt_out_to_all_subtasks_where_watermarks_follow(self) -> None:
        class Watermarks(Map):
            generates_watermarks = True

        program = Program()
        union = program.add(Map(), (program.spark_source(), FORWARD), (program.source(), FORWARD))
        program.add(Watermarks(), (union, FORWARD))
        assert program.compile().inputs(union.id)[0].partitioner is REBALANCE

    def test_a_forward_edge_from_a_spark_source_of_another_parallelism_becomes_a_rebalance(self) -> None:
        program = Program()
        program.add(Sink(), (program.spark_source(), FORWARD), parallelism=1)
        (edge,) = program.compile().edges
        assert (edge.partitioner, edge.exchange) == (REBALANCE, True)

    def test_spark_sources_are_listed_with_their_uid_and_whether_they_end(self) -> None:
        program = Program()
        program.source()
        bounded = program.spark_source(uid="table", bounded=True)
        endless = program.spark_source(uid="stream", bounded=False)
        job = program.compile()
        assert [(s.node, s.uid, s.data_frame, s.bounded) for s in job.cluster_sources] == [
            (bounded.id, "table", FRAME, True),
            (endless.id, "stream", FRAME, False),
        ]


class TestParallelism:
    def test_an_operator_without_a_parallelism_takes_that_of_the_environment(self) -> None:
        program = Program()
        source = program.source()
        narrow = program.add(Map(), (source, REBALANCE), parallelism=3)
        job = program.compile(parallelism=5)
        assert (node_of(job, source).parallelism, node_of(job, narrow).parallelism) == (5, 3)
        assert job.slots == 5

    def test_the_job_needs_as_many_slots_as_its_widest_operator(self) -> None:
        program = Program()
        program.add(Map(), (program.source(), REBALANCE), parallelism=7)
        assert program.compile(parallelism=2).slots == 7

    @pytest.mark.parametrize(("parallelism", "derived"), [(1, 128), (85, 128), (86, 256)])
    def test_max_parallelism_is_derived_from_the_parallelism_of_the_operator(
        self, parallelism: int, derived: int
    ) -> None:
        program = Program()
        source = program.source(parallelism=parallelism)
        node = node_of(program.compile(), source)
        assert (node.max_parallelism, node.explicit_max_parallelism) == (derived, False)

    def test_max_parallelism_of_the_environment_is_explicit(self) -> None:
        program = Program()
        source = program.source()
        node = node_of(program.compile(max_parallelism=64), source)
        assert (node.max_parallelism, node.explicit_max_parallelism) == (64, True)

    def test_max_parallelism_of_the_operator_wins_over_that_of_the_environment(self) -> None:
        program = Program()
        source = program.source(max_parallelism=32)
        node = node_of(program.compile(max_parallelism=64), source)
        assert (node.max_parallelism, node.explicit_max_parallelism) == (32, True)

    def test_parallelism_above_max_parallelism_raises_naming_both(self) -> None:
        program = Program()
        program.source(parallelism=9, max_parallelism=8)
        with pytest.raises(ConfigurationError, match=r"parallelism 9 .* max parallelism, 8"):
            program.compile()


def small_program(**of_map: Any) -> Program:
    program = Program()
    source = program.source()
    mapped = program.add(Map(), (source, FORWARD), **of_map)
    program.add(Sink(), (program.add(Reduce(), (mapped, HASH)), FORWARD))
    return program


def uids(program: Program, parallelism: int = 2) -> list[str]:
    return [node.uid for node in program.compile(parallelism).nodes]


def with_a_second_map(program: Program) -> None:
    """Put one more operator between the source and what follows it."""
    source, mapped, *_ = program.graph.nodes
    inserted = program.add(Map(), (source, FORWARD))
    program.graph.nodes.insert(1, program.graph.nodes.pop())
    mapped.inputs = (StreamEdge(inserted.id, FORWARD),)


def with_another_operator(program: Program) -> None:
    program.graph.nodes[1].transformation = Reduce()


def with_a_rebalance(program: Program) -> None:
    program.graph.nodes[1].inputs = (StreamEdge(0, REBALANCE),)


class TestUids:
    def test_a_derived_uid_is_the_same_in_every_run(self) -> None:
        assert uids(small_program()) == uids(small_program())
        assert uids(small_program())[0] == "a187c1d982dd706e9482a90743794ee3"

    def test_derived_uids_differ_from_each_other(self) -> None:
        program = Program()
        first, second = program.source(), program.source()
        for source in (first, first, second):
            program.add(Map(), (source, FORWARD))
        assert len(set(uids(program))) == 5

    def test_a_derived_uid_does_not_depend_on_names(self) -> None:
        assert uids(small_program(name="another name")) == uids(small_program())

    def test_a_derived_uid_does_not_depend_on_parallelism(self) -> None:
        expected = uids(small_program())
        assert uids(small_program(), parallelism=1) == expected
        assert uids(small_program(parallelism=7, max_parallelism=77)) == expected

    @pytest.mark.parametrize("change", [with_a_second_map, with_another_operator, with_a_rebalance])
    def test_a_derived_uid_changes_with_the_shape_of_the_graph_before_it(
        self, change: Callable[[Program], None]
    ) -> None:
        program = small_program()
        before = {node.id: node.uid for node in program.compile().nodes}
        change(program)
        after = {node.id: node.uid for node in program.compile().nodes}
        assert before[0] == after[0], "the source has nothing before it"
        assert all(before[node] != after[node] for node in (1, 2, 3))

    def test_an_operator_added_behind_the_others_leaves_their_uids_alone(self) -> None:
        program = small_program()
        program.add(Sink(), (program.graph.nodes[1], FORWARD))
        assert uids(program)[:4] == uids(small_program())

    def test_a_given_uid_is_taken_and_shields_what_follows_from_changes_before_it(self) -> None:
        changed = small_program(uid="stable")
        with_a_rebalance(changed)
        assert uids(changed)[1] == "stable"
        assert uids(changed) == uids(small_program(uid="stable"))

    def test_a_uid_used_twice_raises_with_both_names(self) -> None:
        program = Program()
        source = program.source(uid="same", name="the source")
        program.add(Map(), (source, FORWARD), uid="same", name="the map")
        with pytest.raises(InvalidProgramError, match=r"uid 'same' .*'the source' and 'the map'"):
            program.compile()

    def test_a_given_uid_equal_to_a_derived_one_raises(self) -> None:
        derived = uids(small_program())[0]
        with pytest.raises(InvalidProgramError, match=derived):
            small_program(uid=derived).compile()


class TestHostedSources:
    class Hosted(Source):
        hosted = True

    def test_as_many_slots_are_polled_as_the_widest_source_has_subtasks(self) -> None:
        nodes = [self.node(0, self.Hosted(), 2), self.node(1, self.Hosted(), 3), self.node(2, Map(), 4)]
        graph = JobGraph(tuple(nodes), (), ())
        assert (graph.hosts_sources, graph.polled_slots) == (True, 3)

    def test_without_any_one_slot_is_polled_nevertheless(self) -> None:
        graph = JobGraph((self.node(0, Source(), 4),), (), ())
        assert (graph.hosts_sources, graph.polled_slots) == (False, 1)

    def node(self, number: int, transformation: Transformation, parallelism: int) -> JobNode:
        return JobNode(number, str(number), str(number), transformation, parallelism, 128, False, 0, False)
