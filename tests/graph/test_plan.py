"""The execution plan: Flink's JSON, and what Rekindle adds to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import (
    CoMapFunction,
    DataStream,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.plan import Plan, read_plan
from support.in_process_job import InProcessJob, collect


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return -value


class Odd(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        yield (OutputTag("odd", Types.INT()), value) if value % 2 else value


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def nodes_of(env: StreamExecutionEnvironment) -> list[dict[str, Any]]:
    return json.loads(env.get_execution_plan())["nodes"]


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3]).map(lambda number: number).name("numbers")


def strategy_into_last(env: StreamExecutionEnvironment) -> tuple[str, bool]:
    (given,) = nodes_of(env)[-1]["predecessors"]
    return given["ship_strategy"], given["exchange"]


def test_a_node_has_flinks_fields_and_rekindles() -> None:
    env = environment()
    env.from_collection([1]).map(lambda number: number).name("double").uid("doubling").set_description("twice").print()
    source, operator, sink = nodes_of(env)
    assert list(source) == [
        "id",
        "type",
        "pact",
        "contents",
        "parallelism",
        "max_parallelism",
        "uid",
        "uid_given",
        "level",
        "path",
    ]
    assert operator == {
        "id": 2,
        "type": "double",
        "pact": "Operator",
        "contents": "twice",
        "parallelism": 2,
        "max_parallelism": 128,
        "uid": "doubling",
        "uid_given": True,
        "level": 1,
        "path": "records: its input comes as records",
        "predecessors": [{"id": 1, "ship_strategy": "REBALANCE", "side": "first", "exchange": True}],
    }
    assert (source["type"], source["pact"], source["uid_given"]) == ("Source: Collection Source", "Data Source", False)
    assert (sink["type"], sink["pact"], sink["contents"]) == ("Sink: Print to Std. Out", "Data Sink", sink["type"])


def test_an_operator_that_nobody_reads_is_no_sink() -> None:
    env = environment()
    numbers(env)
    assert nodes_of(env)[-1]["pact"] == "Operator"


@pytest.mark.parametrize(
    ("method", "strategy", "exchange"),
    [
        ("forward", "FORWARD", False),
        ("rebalance", "REBALANCE", True),
        ("rescale", "RESCALE", True),
        ("shuffle", "SHUFFLE", True),
        ("broadcast", "BROADCAST", True),
        ("global_", "GLOBAL", True),
    ],
)
def test_the_ship_strategy_is_the_partitioning(method: str, strategy: str, exchange: bool) -> None:
    env = environment()
    getattr(numbers(env), method)().map(lambda number: number)
    assert strategy_into_last(env) == (strategy, exchange)


def test_keys_are_shipped_by_hash_and_custom_partitioners_by_custom() -> None:
    env = environment()
    numbers(env).key_by(lambda number: number).map(lambda number: number)
    assert strategy_into_last(env) == ("HASH", True)
    numbers(env).partition_custom(lambda key, n: key % n, lambda number: number).map(lambda number: number)
    assert strategy_into_last(env) == ("CUSTOM", True)


def test_a_change_of_parallelism_is_a_rebalance_and_one_subtask_needs_no_exchange() -> None:
    env = environment()
    numbers(env).map(lambda number: number).set_parallelism(3)
    assert strategy_into_last(env) == ("REBALANCE", True)
    alone = environment(parallelism=1)
    numbers(alone).key_by(lambda number: number).map(lambda number: number)
    assert strategy_into_last(alone) == ("HASH", False)


def test_a_level_is_the_number_of_exchanges_before() -> None:
    env = environment()
    numbers(env).key_by(lambda number: number).map(lambda number: number).rebalance().map(lambda number: number).print()
    assert [node["level"] for node in nodes_of(env)] == [0, 1, 2, 3, 3]


def test_a_union_has_several_predecessors_on_one_side() -> None:
    env = environment()
    first, second = numbers(env), numbers(env)
    first.union(second).map(lambda number: number)
    given = nodes_of(env)[-1]["predecessors"]
    assert [(p["id"], p["side"], p["ship_strategy"]) for p in given] == [
        (2, "first", "FORWARD"),
        (4, "first", "FORWARD"),
    ]


def test_connected_streams_have_two_sides() -> None:
    env = environment()
    numbers(env).connect(numbers(env)).key_by(lambda number: number, lambda number: number).map(Both())
    given = nodes_of(env)[-1]["predecessors"]
    assert [(p["id"], p["side"], p["ship_strategy"]) for p in given] == [(2, "first", "HASH"), (4, "second", "HASH")]


def test_a_side_output_is_named_by_its_tag() -> None:
    env = environment()
    processed = numbers(env).process(Odd())
    processed.get_side_output(OutputTag("odd", Types.INT())).print()
    processed.print()
    by_id = {node["id"]: node for node in nodes_of(env)}
    assert by_id[4]["predecessors"][0]["side_output"] == "odd"
    assert "side_output" not in by_id[6]["predecessors"][0]


def test_the_plan_neither_starts_spark_nor_runs_nor_clears_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "_spark_session", None)
    env = environment(parallelism=1)
    collect(numbers(env))
    plan = env.get_execution_plan()
    assert env.get_execution_plan() == plan
    with InProcessJob(env) as job:
        assert job.run_to_end() == [1, 2, 3]


def test_a_program_without_operators_has_no_plan() -> None:
    with pytest.raises(InvalidProgramError, match="no operators are defined"):
        environment().get_execution_plan()


def test_the_max_parallelism_is_the_operators_own() -> None:
    env = environment().set_max_parallelism(64)
    numbers(env).map(lambda number: number).set_max_parallelism(32)
    assert [node["max_parallelism"] for node in nodes_of(env)] == [64, 64, 32]


def test_a_plan_is_read_back_as_it_was_written() -> None:
    env = environment()
    processed = numbers(env).process(Odd()).name("ünï 🦆")
    processed.get_side_output(OutputTag("odd", Types.INT())).connect(processed).map(Both()).print()
    text = env.get_execution_plan()
    assert Plan.from_json(text).to_json() == text
    assert eval(text) == json.loads(text)  # as programs for PyFlink read it
    assert all(type(node.uid_given) is bool for node in read_plan(text).nodes)
    assert read_plan(env) == read_plan(text) == read_plan(read_plan(text))


@pytest.mark.parametrize("text", ["", "[]", '{"nodes": [{"id": 1}]}', '{"nodes": 3}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an execution plan"):
        read_plan(text)


@pytest.mark.parametrize("end_of_chain", ["disable_up", "disable_down", "new_down"])
def test_an_end_of_a_chain_converts_records_to_their_type(end_of_chain: str) -> None:
    """As PyFlink 2.3 does; without it, it gives 0.1."""

    def run(how: str) -> list[Any]:
        env = environment(parallelism=1)
        floats = env.from_collection([1]).map(lambda number: number).map(lambda _: 0.1, Types.FLOAT())
        shown = floats.map(lambda number: repr(number))
        if how == "disable_up":
            floats.disable_chaining()
        elif how == "disable_down":
            shown.disable_chaining()
        elif how == "new_down":
            shown.start_new_chain()
        collect(shown)
        with InProcessJob(env) as job:
            return list(job.run_to_end())

    assert run("none") == ["0.1"]
    assert run(end_of_chain) == ["0.10000000149011612"]


def test_a_loop_is_shown_and_what_closes_it_needs_no_uid() -> None:
    env = environment()
    env.get_config().disable_auto_generated_uids()
    loop = numbers(env).uid("numbers").iterate()
    loop.uid("loop")
    env._graph.nodes[0].uid = "source"
    smaller = loop.map(lambda number: number - 1).uid("smaller")
    loop.close_with(smaller)
    head, tail = (node for node in nodes_of(env) if node["type"].startswith("Iteration"))
    assert {"id": tail["id"], "ship_strategy": "FEEDBACK", "side": "first", "exchange": False} in head["predecessors"]
