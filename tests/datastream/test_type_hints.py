"""Annotations of user functions: what they say of a stream, and that they never do harm."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Optional

import msgspec
import pytest

from rekindle.common import Types
from rekindle.datastream import (
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.type_hints import returned_type, state_type, yielded_type
from rekindle.graph.transformations.one_input import ReduceTransformation
from rekindle.types.class_typeinfo import EnumTypeInfo, PojoTypeInfo, SerializerTypeInfo
from support.in_process_job import InProcessJob, collect


@dataclass
class Total:
    user: str
    amount: float


@dataclass
class LargeTotal(Total):
    bonus: int = 0


class Reading(msgspec.Struct):
    sensor: str


class Colour(Enum):
    RED = 1


def parse(line: str) -> Total:
    return Total(line, 1.0)


def misspelt(line: str) -> Totall:  # type: ignore[name-defined]  # noqa: F821
    return line


def without(line: str):  # type: ignore[no-untyped-def]
    return line


def quoted(line: str) -> "Total":  # noqa: UP037
    return parse(line)


def elements(line: str) -> Iterator[Total]:
    yield parse(line)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def logging(*arguments: Any) -> Any:
        return function(*arguments)

    return logging


class Parser:
    def __call__(self, line: str) -> Total:
        return parse(line)

    def method(self, line: str) -> Total:
        return parse(line)

    @staticmethod
    def static(line: str) -> Total:
        return parse(line)


TOTAL = PojoTypeInfo(Total)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (parse, TOTAL),
        (quoted, TOTAL),
        (functools.partial(parse), TOTAL),
        (functools.partial(functools.partial(parse)), TOTAL),
        (logged(parse), TOTAL),
        (Parser(), TOTAL),
        (Parser().method, TOTAL),
        (Parser.static, TOTAL),
        (Total, TOTAL),
        (str, Types.STRING()),
        (lambda line: parse(line), None),
        (without, None),
        (misspelt, None),
        (len, None),
        (object(), None),
        (5, None),
    ],
    ids=str,
)
def test_the_return_annotation_of_any_callable_is_its_hint(function: Any, expected: Any) -> None:
    assert returned_type(function) == expected


def returning(annotation: Any) -> Callable[..., Any]:
    def function(value: Any) -> Any:
        return value

    function.__annotations__["return"] = annotation
    return function


@pytest.mark.parametrize(
    "annotation",
    [
        Iterable[Total],
        Iterator[Total],
        Generator[Total, None, None],
        list[Total],
        tuple[Total, ...],
        "Iterator[Total]",
        Optional[list[Total]],  # noqa: UP045
        list[Total] | None,
        Iterable[Total | tuple[OutputTag, str]],
        "Iterator[Total | tuple[OutputTag[str], str] | tuple[OutputTag[int], int]]",
    ],
    ids=str,
)
def test_a_function_that_returns_an_iterable_hints_at_its_elements(annotation: Any) -> None:
    assert yielded_type(returning(annotation)) == TOTAL


@pytest.mark.parametrize(
    "annotation",
    [
        Total,
        list,
        None,
        "Nothing",
        tuple[Total, int],
        list[Total] | int,
        5,
        Iterable[Total | tuple[str, OutputTag[str]]],
        Iterable[tuple[OutputTag[str], str] | tuple[OutputTag[int], int]],
    ],
    ids=str,
)
def test_what_is_no_iterable_of_one_type_hints_at_nothing(annotation: Any) -> None:
    assert yielded_type(returning(annotation)) is None


class Mapping(MapFunction):
    def map(self, value: Any) -> Total:
        return parse(value)


class Mapped(Mapping):
    """Says nothing itself."""


class Flattening(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Total]:
        return [parse(value)]


class Processing(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Total]:
        yield parse(value)


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Total]:
        yield parse(value)


class Silent(MapFunction):
    def map(self, value):  # type: ignore[no-untyped-def]
        return value


def test_streams_know_the_hints_of_their_functions() -> None:
    lines = StreamExecutionEnvironment().from_collection(["a"])
    totals = lines.map(parse)
    for stream in (
        totals,
        lines.map(Mapping()),
        lines.map(Mapped()),
        lines.flat_map(elements),
        lines.flat_map(Flattening()),
        lines.process(Processing()),
        lines.key_by(len).process(Keyed()),
        lines.key_by(len).map(parse),
        lines.key_by(len).flat_map(elements),
        totals.filter(lambda total: True),
        totals.rebalance(),
        totals.union(lines.map(parse)),
        totals.key_by(lambda total: total.user),
        totals.key_by(lambda total: total.user).filter(lambda total: True),
        totals.key_by(lambda total: total.user).reduce(lambda one, other: one),
    ):
        assert stream._hint == TOTAL
        assert stream.get_type() == Types.PICKLED_BYTE_ARRAY()
    for stream in (lines, lines.map(len), lines.map(Silent()), totals.union(lines), totals.map(lambda total: total)):
        assert stream._hint is None


class TestState:
    def test_of_classes_that_evolve_is_written_by_their_fields(self) -> None:
        for hint in (PojoTypeInfo(Total), PojoTypeInfo(Reading), EnumTypeInfo(Colour)):
            assert isinstance(state_type(hint), SerializerTypeInfo)

    def test_of_anything_else_is_pickled(self) -> None:
        @dataclass
        class Local:
            value: int

        for hint in (None, Types.STRING(), Types.LIST(Types.INT()), PojoTypeInfo(Local)):
            assert state_type(hint) is None

    def test_of_a_reduction_is_of_the_declared_type_then_of_the_hinted_one(self) -> None:
        lines = StreamExecutionEnvironment().from_collection(["a"])

        def add(one: Total, other: Total) -> Total:
            return one

        def state_of(stream: Any, function: Any) -> Any:
            node = stream.key_by(lambda value: 1).reduce(function)._node
            assert isinstance(node.transformation, ReduceTransformation)
            return node.transformation.type_info

        assert state_of(lines.map(parse, output_type=Total), max) == TOTAL
        assert state_of(lines.map(parse, output_type=Types.PICKLED_BYTE_ARRAY()), max) == Types.PICKLED_BYTE_ARRAY()
        assert state_of(lines.map(parse), max) == state_type(TOTAL)
        assert state_of(lines.map(lambda line: line), add) == state_type(TOTAL)
        assert state_of(lines.map(lambda line: line), max) is None


def either(number: int) -> Total:
    """Break the promise of the annotation in every way."""
    return [
        Total("a", 1.5),
        Total("a", 2),  # an int where a float should be
        LargeTotal("a", 3.0, 7),
        "no total at all",  # type: ignore[list-item]
    ][number]


def first(one: Any, other: Any) -> Any:
    return one


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_hint_that_is_wrong_changes_nothing_not_even_what_is_restored(parallelism: int) -> None:
    def run(function: Callable[[int], Any]) -> list[str]:
        environment = StreamExecutionEnvironment()
        stream = environment.from_collection([0, 1, 2, 3] * 2).map(function)
        collect(stream.key_by(repr).reduce(first).rebalance().map(repr))
        with InProcessJob(environment, parallelism) as job:
            job.run_epoch(max_records=4)
            checkpoint = job.checkpoint()
        with InProcessJob(environment, parallelism, restore=checkpoint) as again:
            return sorted(again.run_to_end())

    assert run(either) == run(lambda number: either(number)) == sorted(repr(either(number)) for number in range(4))
