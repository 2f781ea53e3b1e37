"""In which order few records of connected and united streams arrive in the cluster for tests: as PyFlink 2.3 shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.state import MapStateDescriptor
from rekindle.testing.in_process.flink_order import FlinkOrderedSlot
from support.in_process_job import InProcessJob, collect

RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())


class Both(CoProcessFunction):
    def process_element1(self, value: int, ctx: Any) -> Iterable[int]:
        yield value

    process_element2 = process_element1


class BothKeyed(KeyedCoProcessFunction):
    process_element1 = process_element2 = Both.process_element1


class BothRules(KeyedBroadcastProcessFunction):
    process_element = process_broadcast_element = Both.process_element1


def key(value: int) -> int:
    return value % 2


def arrived(connect: Callable[[DataStream, DataStream], DataStream], first: int = 4, second: int = 6) -> list[Any]:
    env = StreamExecutionEnvironment()
    collect(connect(env.from_collection(range(first)), env.from_collection(range(1_000, 1_000 + second))))
    with InProcessJob(env, slot_class=FlinkOrderedSlot) as job:
        return job.run_to_end()


def test_two_streams_straight_from_sources_are_read_in_turn() -> None:
    records = arrived(lambda one, other: one.connect(other).process(Both()))
    assert records == [0, 1000, 1, 1001, 2, 1002, 3, 1003, 1004, 1005]


def test_what_went_through_a_function_comes_after_what_did_not() -> None:
    mapped = arrived(lambda one, other: one.map(lambda value: value).connect(other).process(Both()))
    assert mapped == [*range(1000, 1006), *range(4)]
    rules = arrived(lambda one, other: one.key_by(key).connect(other.broadcast(RULES)).process(BothRules()))
    assert rules == mapped


def test_of_two_that_went_through_functions_the_first_comes_first() -> None:
    keyed = arrived(lambda one, other: one.key_by(key).connect(other.key_by(key)).process(BothKeyed()))
    assert keyed == [*range(4), *range(1000, 1006)]


def test_united_streams_come_one_after_the_other_those_straight_from_sources_first() -> None:
    assert arrived(lambda one, other: one.union(other)) == [*range(4), *range(1000, 1006)]
    assert arrived(lambda one, other: one.map(int).union(other)) == [*range(1000, 1006), *range(4)]
    assert arrived(lambda one, other: one.map(int).union(other.map(int))) == [*range(4), *range(1000, 1006)]
    assert arrived(lambda one, other: one.union(one.map(lambda value: -value))) == [0, 1, 2, 3, 0, -1, -2, -3]


@pytest.mark.parametrize(("first", "second"), [(300, 4), (4, 300), (2_000, 2_000)])
def test_many_records_do_not_wait_for_the_other_stream(first: int, second: int) -> None:
    records = arrived(lambda one, other: one.connect(other).process(Both()), first, second)
    assert [value for value in records if value < 1_000 or first > 1_000][:300] == sorted(records)[: min(first, 300)]
    assert sorted(records) == sorted([*range(first), *range(1_000, 1_000 + second)])


def test_an_epoch_holds_nothing_back_for_the_next() -> None:
    env = StreamExecutionEnvironment()
    collect(env.from_collection(range(10)).connect(env.from_collection(range(100, 110))).process(Both()))
    with InProcessJob(env, slot_class=FlinkOrderedSlot) as job:
        job.run_epoch(max_records=4)
        assert job.collected == [0, 100, 1, 101]
        job.run_to_end()
    assert sorted(job.collected) == [*range(10), *range(100, 110)]
