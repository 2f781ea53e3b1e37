"""Parameters of classes are for checkers of types: they change nothing that a program does."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from rekindle.common import Types
from rekindle.datastream import DataStream, KeyedStream, OutputTag
from rekindle.datastream.functions import AggregateFunction, KeyedProcessFunction, TwoPhaseCommitSinkFunction
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.testing import local_environment

PROGRAMS = sorted(Path(__file__).parent.glob("good/*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_programs_with_parameters_can_be_planned(program: Path) -> None:
    env = local_environment()
    runpy.run_path(str(program))["program"](env).print()
    assert "Print to Std. Out" in env.get_execution_plan()


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("transformations", [3.0, 9.5, 10.0]),
        ("process_functions", [3.0, 9.5, 9.5 + 0.5, 3.0, 10.0]),
        ("without_parameters", [1, 1, 2]),
    ],
)
def test_programs_with_parameters_run(program: str, expected: list[Any], parallelism: int) -> None:
    """The functions are of a module that cannot be imported, so their classes are pickled with their parameters."""
    (path,) = (path for path in PROGRAMS if path.stem == program)
    stream = runpy.run_path(str(path))["program"](local_environment(parallelism))
    with stream.execute_and_collect() as results:
        assert sorted(map(repr, results)) == sorted(map(repr, expected))


def test_parameters_may_be_left_out_from_the_end() -> None:
    class Keys(KeyedProcessFunction[str]):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield ctx.get_current_key()

    class Transactions(TwoPhaseCommitSinkFunction[str, int]):
        pass

    stream = local_environment().from_collection(["a"]).key_by(lambda word: word)
    with stream.process(Keys()).execute_and_collect() as keys:
        assert list(keys) == ["a"]
    assert issubclass(Transactions, TwoPhaseCommitSinkFunction)
    assert AggregateFunction[int, float] is not AggregateFunction


@pytest.mark.parametrize(
    ("with_parameters", "without"),
    [
        (OutputTag[int]("tag"), OutputTag("tag")),
        (OutputTag[str]("tag", Types.STRING()), OutputTag("tag", Types.STRING())),
        (ValueStateDescriptor[int]("state"), ValueStateDescriptor("state")),
        (MapStateDescriptor[str, int]("state"), MapStateDescriptor("state")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_with_and_without_parameters_are_equal(with_parameters: object, without: object) -> None:
    assert with_parameters == without
    assert hash(with_parameters) == hash(without)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        assert pickle.loads(dumps(with_parameters)) == without


def test_streams_are_instances_of_their_classes() -> None:
    stream = local_environment().from_collection([1])
    assert type(stream) is DataStream
    assert type(stream.key_by(lambda number: number)) is KeyedStream
    assert isinstance(stream.key_by(lambda number: number), DataStream)
