"""Calls that need several operators: what the program sets on what it gets back holds for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.output_tag import OutputTag
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.plan import Plan, plan_of
from support.programs_with_uids import IN_ORDER, environment, files, kafka


def loop(env: StreamExecutionEnvironment) -> DataStream:
    iteration = env.from_collection([1]).uid("numbers").iterate()
    body = iteration.map(lambda n: n - 1).uid("body")
    iteration.close_with(body.filter(lambda n: n > 0).uid("again"))
    iteration.close_with(body.filter(lambda n: n > 9).uid("once more"))
    return iteration


SEVERAL = {"FileSource": (files, ["watermarks"]), "KafkaSource": (kafka, ["records"])}
SEVERAL["iterate"] = (loop, ["feedback", "feedback 2"])


def of(job: JobGraph, env: StreamExecutionEnvironment, part: bool) -> list[Any]:
    nodes = env._graph.pending().nodes
    return [job.nodes[node.id] for node in nodes if (node.part_of is not None) is part]


@pytest.mark.parametrize(("write", "parts"), SEVERAL.values(), ids=SEVERAL)
class TestWhatIsSet:
    def test_is_set_on_all_of_it(self, write: Callable[..., DataStream], parts: list[str]) -> None:
        env = environment()
        stream = write(env)
        stream.print().uid("out")
        stream.name("named").uid("mine").set_parallelism(3).set_max_parallelism(7).set_description("what it is")
        env.get_config().disable_auto_generated_uids()
        job = env._compile()
        assert [node.uid for node in of(job, env, part=True)] == [f"mine:{part}" for part in parts]
        (whole,) = (node for node in of(job, env, part=False) if node.uid == "mine")
        for node in (whole, *of(job, env, part=True)):
            assert node.name.startswith("named"), node
            assert (node.parallelism, node.max_parallelism, node.derived_from) == (3, 7, None)
        plan: Plan = plan_of(env._graph.pending(), job)
        assert sum(node.contents.startswith("what it is") for node in plan.nodes) == 1 + len(parts)
        assert stream.get_name() == "named"

    def test_a_uid_hash_is_that_of_the_whole(self, write: Callable[..., DataStream], parts: list[str]) -> None:
        env = environment()
        stream = write(env)
        stream.print().uid("out")
        stream.set_uid_hash("0" * 32)
        env.get_config().disable_auto_generated_uids()
        assert [node.uid for node in of(env._compile(), env, part=True)] == [f"{'0' * 32}:{part}" for part in parts]

    def test_a_program_that_wants_no_derived_uids_names_the_whole(
        self, write: Callable[..., DataStream], parts: list[str]
    ) -> None:
        env = environment()
        stream = write(env).name("without")
        stream.print().uid("out")
        env.get_config().disable_auto_generated_uids()
        with pytest.raises(InvalidProgramError, match="to operator 'without'; call uid"):
            env._compile()


@pytest.mark.parametrize("write", [files, kafka])
class TestSources:
    def test_the_uid_is_that_of_the_position(self, write: Callable[..., DataStream]) -> None:
        env = environment()
        write(env).uid("orders").set_parallelism(1).print()
        (source,) = env._compile().cluster_sources
        assert source.uid == "orders"
        assert env._compile().nodes[source.node].parallelism == 1

    def test_their_parallelism_may_be_set_again(self, write: Callable[..., DataStream]) -> None:
        assert write(environment()).set_parallelism(1).set_parallelism(2)._own_node("here").parallelism == 2

    def test_that_nothing_reads_from_do_not_run(self, write: Callable[..., DataStream]) -> None:
        env = environment()
        write(env)
        env.from_collection([1]).print()
        assert not env._compile().cluster_sources

    def test_have_no_side_outputs(self, write: Callable[..., DataStream]) -> None:
        with pytest.raises(InvalidProgramError, match="has no side outputs"):
            write(environment()).get_side_output(OutputTag("late"))


def test_records_of_a_source_are_converted_with_watermarks_and_without() -> None:
    """No source is chained with what is behind it, and neither is a part of one."""
    types = []
    for strategy in (IN_ORDER, WatermarkStrategy.no_watermarks()):
        env = environment()
        kafka(env, strategy=strategy).map(str).print()
        job = env._compile()
        types.append(next(edge.type_info for edge in job.edges if job.nodes[edge.target].name == "Map"))
    assert types == [Types.STRING(), Types.STRING()]


def test_a_uid_that_a_part_has_is_no_ones_else() -> None:
    env = environment()
    files(env).uid("orders").map(str).uid("orders:watermarks").name("mine").print()
    with pytest.raises(InvalidProgramError, match=re.escape("two operators, 'lines (watermarks)' and 'mine'")):
        env._compile()


DERIVED = [
    "387dbac03f115426a88823aac063f7f8",
    "7afc4a78049506bdefcdaf0c60dd697d",
    "7d10f24cc753729e5c34ff47acc38c76",
    "e6a4970d46ee3b3a7abee15aef4cd2a8",
    "594dc60612507f59ca91a298e3cf5ad0",
    "72af0d8f7fd6fd0517724797c6f02991",
    "ad7e244d0ed8e26a3cd20b0ad17044ab",
    "f98006be13331d03259924afeafb7288",
    "e4c46da090f9ded3b15f39ef87887810",
    "cf9f21938eddcd870a3e4e093341fc33",
    "55c4f7eda50841d9fd283b51d895c6a2",
    "9a33256fc534c1cb7a0202af7012ef21",
    "d56e088bff9ebe5b684febcaab97e763",
    "b3fd09f09703a4d34965837b0fed7384",
    "6f001e3034ccad6f83fe9d53819556b8",
    "33ae59e9cd6df52fbfaf3c86ee1883ee",
]


def test_uids_behind_a_source_are_derived_as_they_ever_were() -> None:
    """Savepoints hold them: of programs without any uid, and of some with one at a source that has watermarks."""
    env = environment()
    files(env).map(str).print()
    files(env).uid("orders").map(str).print()
    files(env).map(str).print()
    kafka(env).map(str).print()
    kafka(env).uid("topic").map(str).print()
    assert [node.uid for node in env._compile().nodes if node.derived_from is not None] == DERIVED
