"""The ways of dealing out records that a program can ask for, in whole jobs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import KeySelector, MapFunction, Partitioner, RuntimeContext
from rekindle.datastream.window import CountTumblingWindowAssigner
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.partitioning import rescale_sources, rescale_targets
from rekindle.runtime.slot.failure import OperatorError
from support.in_process_job import InProcessJob, collect


class Where(MapFunction):
    """Add the subtask to a record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return (self.subtask, value)


def numbers(env: StreamExecutionEnvironment, count: int, parallelism: int) -> DataStream:
    """Return the numbers 0 … count - 1, each with the subtask it comes from."""
    source = env.from_source(NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), "numbers")
    return source.set_parallelism(parallelism).map(Where()).set_parallelism(parallelism)


def run(env: StreamExecutionEnvironment, max_records: int = 1_000_000) -> list[Any]:
    with InProcessJob(env) as job:
        return job.run_to_end(max_records)


def dealt(way: str, sources: int, targets: int, *arguments: Any, count: int = 60) -> list[tuple[int, tuple[int, int]]]:
    """Return (target, (source, number)) for all numbers."""
    env = StreamExecutionEnvironment()
    stream = getattr(numbers(env, count, sources), way)(*arguments)
    collect(stream.map(Where()).set_parallelism(targets))
    return run(env, max_records=17)


@pytest.mark.parametrize("sources", range(1, 9))
@pytest.mark.parametrize("targets", range(1, 9))
def test_rescaling_gives_every_sender_a_receiver_and_every_receiver_a_sender(sources: int, targets: int) -> None:
    sent = {(source, target) for source in range(sources) for target in rescale_targets(source, sources, targets)}
    received = {(source, target) for target in range(targets) for source in rescale_sources(target, sources, targets)}
    assert sent == received
    assert {source for source, _ in sent} == set(range(sources))
    assert {target for _, target in sent} == set(range(targets))
    assert len(sent) == max(sources, targets)


@pytest.mark.parametrize(
    ("sources", "targets", "pairs"),
    [
        (2, 3, [(0, 0), (0, 1), (1, 2)]),
        (3, 2, [(0, 0), (1, 1), (2, 1)]),
        (3, 3, [(0, 0), (1, 1), (2, 2)]),
        (3, 7, [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]),
        (7, 3, [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2)]),
        (5, 4, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)]),
    ],
)
def test_rescaling_connects_the_subtasks_that_flink_connects(
    sources: int, targets: int, pairs: list[tuple[int, int]]
) -> None:
    assert [(source, t) for source in range(sources) for t in rescale_targets(source, sources, targets)] == pairs


def test_rescale_deals_out_to_the_subtasks_of_the_sender_only() -> None:
    pairs = Counter((source, target) for target, (source, _) in dealt("rescale", 2, 4))
    assert pairs == {(0, 0): 15, (0, 1): 15, (1, 2): 15, (1, 3): 15}


def test_rescale_to_fewer_subtasks_joins_neighbours() -> None:
    pairs = Counter((source, target) for target, (source, _) in dealt("rescale", 4, 2))
    assert pairs == {(0, 0): 15, (1, 0): 15, (2, 1): 15, (3, 1): 15}


def test_rescale_deals_out_one_by_one_beginning_with_the_first() -> None:
    targets = {number: target for target, (source, number) in dealt("rescale", 1, 3, count=9)}
    assert [targets[number] for number in range(9)] == [0, 1, 2] * 3


def test_shuffle_loses_nothing_and_reaches_every_subtask() -> None:
    records = dealt("shuffle", 2, 3, count=300)
    assert sorted(number for _, (_, number) in records) == list(range(300))
    assert {target for target, _ in records} == {0, 1, 2}


def test_global_sends_everything_to_the_first_subtask() -> None:
    records = dealt("global_", 2, 3)
    assert {target for target, _ in records} == {0}
    assert sorted(number for _, (_, number) in records) == list(range(60))


def test_broadcast_gives_each_record_to_every_subtask() -> None:
    records = dealt("broadcast", 2, 3)
    assert sorted((target, number) for target, (_, number) in records) == [(t, n) for t in range(3) for n in range(60)]


def test_what_one_subtask_does_to_a_broadcast_record_no_other_sees() -> None:
    class Add(MapFunction):
        def map(self, value: Any) -> Any:
            value.append(len(value))
            return value

    env = StreamExecutionEnvironment()
    collect(env.from_collection([[7]]).broadcast().map(Add()).set_parallelism(3))
    assert run(env) == [[7, 1]] * 3


def test_forward_keeps_records_in_their_subtask() -> None:
    assert all(target == source for target, (source, _) in dealt("forward", 3, 3))


def test_forward_between_different_parallelisms_is_refused_naming_both_operators() -> None:
    env = StreamExecutionEnvironment()
    numbers(env, 9, 2).name("two").forward().map(lambda value: value).set_parallelism(3).name("three")
    with pytest.raises(InvalidProgramError, match="'two' has 2 subtasks and 'three' has 3"):
        compile_job(env._graph, 1, None)


def test_a_partitioner_chooses_the_subtask_by_the_key() -> None:
    records = dealt("partition_custom", 2, 3, lambda key, count: key % count, lambda record: record[1] // 10)
    assert all(target == number // 10 % 3 for target, (_, number) in records)
    assert sorted(number for _, (_, number) in records) == list(range(60))


def test_partitioner_and_key_selector_may_be_objects() -> None:
    class Last(Partitioner):
        def partition(self, key: Any, num_partitions: int) -> int:
            return num_partitions - 1 if key else 0

    class Odd(KeySelector):
        def get_key(self, value: Any) -> bool:
            return value[1] % 2 == 1

    records = dealt("partition_custom", 1, 4, Last(), Odd())
    assert all(target == (3 if number % 2 else 0) for target, (_, number) in records)


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("choice", [2, -1, None])
def test_a_partitioner_that_chooses_a_subtask_that_is_not_there_fails_the_job(parallelism: int, choice: Any) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_collection([1]).partition_custom(lambda key, count: choice, lambda value: value)
    collect(stream.map(lambda value: value).name("counter").set_parallelism(parallelism)).set_parallelism(parallelism)
    with pytest.raises(OperatorError) as raised:
        run(env)
    assert f"before operator 'counter' returned {choice}" in str(raised.value.__cause__)


def test_an_error_in_a_partitioner_says_where_it_was_raised() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_collection([1]).partition_custom(lambda key, count: key // 0, lambda value: value)
    collect(stream.map(lambda value: value).set_parallelism(2))
    with pytest.raises(OperatorError) as raised:
        run(env)
    assert "partition_custom" in "".join(raised.value.__cause__.__notes__)


@pytest.mark.parametrize(
    ("partitioner", "selector"), [("no function", lambda value: value), (lambda key, count: 0, "no function")]
)
def test_what_cannot_choose_is_refused_at_once(partitioner: Any, selector: Any) -> None:
    stream = StreamExecutionEnvironment().from_collection([1])
    with pytest.raises(TypeError, match="partition_custom"):
        stream.partition_custom(partitioner, selector)


LIVES: list[Any] = []


class Opened(Partitioner):
    """Note what happens to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.shift = 1
        LIVES.append(("open", runtime_context.get_index_of_this_subtask()))

    def partition(self, key: Any, num_partitions: int) -> int:
        return (key + self.shift) % num_partitions

    def close(self) -> None:
        LIVES.append("close")


def test_a_partitioner_is_opened_and_closed_once_in_every_sending_subtask() -> None:
    LIVES.clear()
    env = StreamExecutionEnvironment()
    both = numbers(env, 20, 2).union(numbers(env, 20, 2))
    stream = both.partition_custom(Opened(), lambda record: record[1])
    for _ in range(2):  # two readers of two senders
        collect(stream.map(Where()).set_parallelism(3))
    records = run(env)
    assert all(target == (number + 1) % 3 for target, (_, number) in records)
    assert sorted(number for _, (_, number) in records) == sorted([*range(20)] * 4)
    assert LIVES == [("open", 0), ("open", 1), "close", "close"]


class OpenedSelector(KeySelector):
    """Give keys that depend on ``open``, and note what happens to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.modulus = 7
        LIVES.append(("open", runtime_context.get_index_of_this_subtask()))

    def get_key(self, value: Any) -> int:
        return int(value[1] % self.modulus)

    def close(self) -> None:
        LIVES.append("close")


def test_a_key_selector_of_key_by_is_opened_and_closed_once_in_every_sending_subtask() -> None:
    LIVES.clear()
    env = StreamExecutionEnvironment()
    keyed = numbers(env, 20, 2).key_by(OpenedSelector())
    for _ in range(2):
        collect(keyed.reduce(lambda a, b: b).set_parallelism(3))
    assert len(run(env)) == 40
    assert LIVES == [("open", 0), ("open", 1), "close", "close"]


def test_a_key_selector_of_partition_custom_is_opened_and_closed() -> None:
    LIVES.clear()
    env = StreamExecutionEnvironment()
    collect(numbers(env, 20, 2).partition_custom(lambda key, count: key % count, OpenedSelector()).map(Where()))
    assert len(run(env)) == 20
    assert LIVES == [("open", 0), ("open", 1), "close", "close"]


def test_key_selectors_of_a_join_are_opened_and_closed() -> None:
    LIVES.clear()
    env = StreamExecutionEnvironment()
    first, second = numbers(env, 6, 1), numbers(env, 6, 1)
    joining = first.join(second).where(OpenedSelector()).equal_to(OpenedSelector())
    collect(joining.window(CountTumblingWindowAssigner.of(2)).apply(lambda one, two: one[1] == two[1]))
    assert run(env) == [True] * 6
    assert LIVES == [("open", 0), ("open", 0), "close", "close"]


@pytest.mark.parametrize(
    "method", ["shuffle", "rescale", "rebalance", "forward", "global_", "broadcast", "partition_custom"]
)
def test_a_keyed_stream_is_partitioned_by_its_keys_and_not_otherwise(method: str) -> None:
    keyed = StreamExecutionEnvironment().from_collection([1]).key_by(lambda value: value)
    with pytest.raises(Exception, match=r"Cannot override partitioning for KeyedStream\."):
        getattr(keyed, method)()


@pytest.mark.parametrize("way", ["rescale", "shuffle", "global_", "broadcast", "forward"])
def test_the_type_of_a_stream_stays_with_its_partitioning(way: str) -> None:
    stream = StreamExecutionEnvironment().from_collection([1], Types.INT())
    assert getattr(stream, way)().get_type() == Types.INT()
    assert stream.partition_custom(lambda key, count: 0, lambda value: value).get_type() == Types.INT()


@pytest.mark.parametrize(
    ("way", "arguments"),
    [("rescale", ()), ("global_", ()), ("broadcast", ()), ("partition_custom", (lambda k, n: k % n, lambda r: r[1]))],
)
def test_what_was_dealt_out_before_a_restore_goes_on_the_same_way_after_it(way: str, arguments: Any) -> None:
    def job(**settings: Any) -> InProcessJob:
        env = StreamExecutionEnvironment()
        collect(getattr(numbers(env, 48, 2), way)(*arguments).map(Where()).set_parallelism(4))
        return InProcessJob(env, **settings)

    with job() as whole:
        golden = whole.run_to_end(4)
    with job() as first:
        first.run_epoch(8)
        before = list(first.collected)
        checkpoint = first.checkpoint()
        first.run_epoch(4)  # lost
    with job(restore=checkpoint) as second:
        after = second.run_to_end(4)
    assert sorted(before + after) == sorted(golden)


def test_progress_of_a_rescaled_stream_counts_only_the_senders_a_subtask_has() -> None:
    """With 5 senders and 3 receivers all of them see the end of their input."""
    assert sorted(number for _, (_, number) in dealt("rescale", 5, 3)) == list(range(60))
    assert sorted(number for _, (_, number) in dealt("rescale", 3, 5)) == list(range(60))
