"""Loops without rounds: each record goes round on its own, once per epoch, until nothing is in the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.slot.failure import OperatorError
from support.in_process_job import InProcessJob, collect


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def numbers(env: StreamExecutionEnvironment, first: int, last: int) -> DataStream:
    return env.from_source(NumberSequenceSource(first, last), WatermarkStrategy.no_watermarks(), "numbers")


def next_collatz(item: tuple[int, int, int]) -> tuple[int, int, int]:
    start, current, steps = item
    return start, current // 2 if current % 2 == 0 else 3 * current + 1, steps + 1


def collatz_length(start: int) -> int:
    steps = 0
    while start != 1:
        start = start // 2 if start % 2 == 0 else 3 * start + 1
        steps += 1
    return steps


def collatz_job(last: int, keyed: bool) -> StreamExecutionEnvironment:
    env = environment()
    loop = numbers(env, 1, last).map(lambda n: (n, n, 0)).iterate()
    items: DataStream = loop.key_by(lambda item: item[0] % 7) if keyed else loop
    stepped = items.map(lambda item: item if item[1] == 1 else next_collatz(item))
    loop.close_with(stepped.filter(lambda item: item[1] != 1))
    collect(stepped.filter(lambda item: item[1] == 1).map(lambda item: (item[0], item[2])))
    return env


def collatz_golden(last: int) -> list[tuple[int, int]]:
    return [(n, collatz_length(n)) for n in range(1, last + 1)]


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_numbers_go_round_until_they_are_zero(parallelism: int) -> None:
    env = environment()
    iteration = numbers(env, 0, 9).iterate()
    minus_one = iteration.map(lambda n: n - 1)
    feedback = minus_one.filter(lambda n: n > 0)
    assert iteration.close_with(feedback) is feedback
    collect(minus_one.filter(lambda n: n <= 0))
    with InProcessJob(env, parallelism) as job:
        assert sorted(job.run_to_end()) == [-1] + [0] * 9


@pytest.mark.parametrize("keyed", [False, True], ids=["forward", "keyed"])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_collatz_lengths_are_golden(parallelism: int, keyed: bool) -> None:
    with InProcessJob(collatz_job(60, keyed), parallelism) as job:
        assert sorted(job.run_to_end(max_records=7)) == collatz_golden(60)


@pytest.mark.parametrize("way", ["forward", "rebalance"])
def test_a_record_goes_round_once_per_epoch_or_as_often_as_it_can_where_it_stays_in_its_slot(way: str) -> None:
    env = environment()
    loop = env.from_collection([3]).iterate()
    collect(loop)
    loop.close_with(getattr(loop, way)().map(lambda n: n - 1).filter(lambda n: n > 0))
    with InProcessJob(env, 2) as job:
        seen = []
        for _ in range(3):
            job.run_epoch()
            seen.append(list(job.collected))
        assert seen == ([[3], [3, 2], [3, 2, 1]] if way == "rebalance" else [[3, 2, 1]] * 3)


def test_a_loop_that_never_gets_empty_does_not_keep_an_epoch_from_ending() -> None:
    env = environment()
    loop = env.from_collection([0]).iterate()
    collect(loop)
    loop.close_with(loop.map(lambda n: n + 1))
    with InProcessJob(env) as job:
        for expected in ([0, 1], [0, 1, 2], [0, 1, 2, 3]):
            job.run_epoch(max_records=1)
            assert job.collected == expected
            assert job.iterations.more


def test_the_loop_is_over_only_when_the_queues_of_all_slots_are_empty() -> None:
    """One record in one subtask goes round long after the others are done: all hear of the end together."""
    env = environment()
    loop = numbers(env, 1, 9).map(lambda n: 40 if n == 9 else 1).iterate()
    stepped = loop.rescale().map(lambda n: n - 1)
    loop.close_with(stepped.filter(lambda n: n > 0))
    collect(stepped.filter(lambda n: n == 0))
    with InProcessJob(env, 3) as job:
        finished = []
        for _ in range(60):
            reports = job.run_epoch()
            finished.append({report.finished for report in reports})
            if finished[-1] == {True}:
                break
            assert finished[-1] == {False}
        assert job.collected == [0] * 9
        assert 40 <= len(finished) <= 45


class CountsVisits(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.INT()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Any:
        visits = (self._visits.value() or 0) + 1
        self._visits.update(visits)
        name, left = value
        yield name, left, visits


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_state_per_key_is_kept_while_records_go_round(parallelism: int) -> None:
    env = environment()
    loop = env.from_collection([("a", 3), ("b", 5), ("c", 1), ("a", 2)]).iterate()
    counted = loop.key_by(lambda item: item[0]).process(CountsVisits())
    loop.close_with(counted.filter(lambda item: item[1] > 1).map(lambda item: (item[0], item[1] - 1)))
    collect(counted)
    with InProcessJob(env, parallelism) as job:
        visits = Counter(name for name, _, _ in job.run_to_end())
        most = {name: max(count for other, _, count in job.collected if other == name) for name in visits}
    assert visits == most == {"a": 5, "b": 5, "c": 1}


@pytest.mark.parametrize("way", ["rebalance", "shuffle", "global_", "rescale"])
def test_feedback_is_dealt_out_as_the_program_says(way: str) -> None:
    env = environment()
    loop = numbers(env, 1, 20).iterate()
    stepped = loop.map(lambda n: n - 1)
    loop.close_with(getattr(stepped.filter(lambda n: n > 0), way)())
    collect(stepped.filter(lambda n: n == 0))
    with InProcessJob(env, 3) as job:
        assert job.run_to_end() == [0] * 20


def test_broadcast_feedback_comes_back_in_every_subtask() -> None:
    env = environment()
    loop = env.from_collection([0]).iterate()
    collect(loop)
    loop.close_with(loop.filter(lambda n: n < 2).map(lambda n: n + 1).broadcast())
    with InProcessJob(env, 3) as job:
        assert Counter(job.run_to_end()) == {0: 1, 1: 3, 2: 9}


def test_head_and_feedback_may_differ_in_parallelism() -> None:
    env = environment()
    loop = numbers(env, 1, 12).iterate()
    loop.set_parallelism(2)
    stepped = loop.map(lambda n: n - 1).set_parallelism(3)
    loop.close_with(stepped.filter(lambda n: n > 0).set_parallelism(1))
    collect(stepped.filter(lambda n: n == 0))
    with InProcessJob(env, 3) as job:
        assert job.run_to_end() == [0] * 12


def test_a_loop_may_be_fed_by_several_streams() -> None:
    env = environment()
    loop = env.from_collection([10]).iterate()
    collect(loop)
    loop.close_with(loop.filter(lambda n: n > 6 and n % 2 == 0).map(lambda n: n - 1))
    loop.close_with(loop.filter(lambda n: n > 6 and n % 2 == 1).map(lambda n: n - 1))
    with InProcessJob(env) as job:
        assert job.run_to_end() == [10, 9, 8, 7, 6]


def test_side_outputs_uids_and_names_work_in_a_loop() -> None:
    done = OutputTag("done", Types.INT())

    class Halve(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Any:
            if value == 1:
                yield done, value
            else:
                yield value // 2

    env = environment()
    loop = env.from_collection([8, 5, 1]).iterate()
    loop.name("halving").uid("head")
    halved = loop.process(Halve()).name("halve").uid("halve")
    loop.close_with(halved)
    collect(halved.get_side_output(done))
    with InProcessJob(env, 2) as job:
        assert {node.uid for node in job.graph.nodes} >= {"head", "halve"}
        assert "halving (feedback)" in {node.name for node in job.graph.nodes}
        assert job.run_to_end() == [1, 1, 1]


def test_one_iteration_may_follow_another() -> None:
    env = environment()
    first = env.from_collection([2, 4]).iterate()
    stepped = first.map(lambda n: n - 1)
    first.close_with(stepped.filter(lambda n: n > 0))
    second = stepped.filter(lambda n: n == 0).map(lambda n: 3).iterate()
    second.close_with(second.map(lambda n: n - 1).filter(lambda n: n > 0))
    collect(second)
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [1, 1, 2, 2, 3, 3]


def test_types_hold_for_feedback_as_for_the_input() -> None:
    env = environment()
    loop = env.from_collection([1, 2], Types.INT()).iterate()
    collect(loop)
    loop.close_with(loop.map(lambda n: n + 0.5, Types.INT()).filter(lambda n: False))
    with InProcessJob(env) as job:
        assert job.run_to_end() == [1, 2]
    env = environment()
    loop = env.from_collection([1, 2], Types.INT()).iterate()
    with pytest.raises(InvalidProgramError, match=r"takes feedback of .*with_feedback_type"):
        loop.close_with(loop.map(str, Types.STRING()))


@pytest.mark.parametrize("parallelism", [1, 2])
def test_streams_from_outside_come_into_the_loop_and_are_waited_for(parallelism: int) -> None:
    env = environment()
    loop = env.from_collection([2]).iterate()
    stepped = loop.union(numbers(env, 1, 8)).map(lambda n: n - 1)
    loop.close_with(stepped.filter(lambda n: n > 0).union(env.from_collection([3])))
    collect(stepped.filter(lambda n: n == 0))
    with InProcessJob(env, parallelism) as job:
        assert job.run_to_end(max_records=1) == [0] * 10


# --- connected iterations ---


class Shorten(CoMapFunction):
    def map1(self, value: int) -> str:
        return "x" * value

    def map2(self, value: str) -> str:
        return value[1:]


class Echo(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Any:
        yield "input", value

    def flat_map2(self, value: str) -> Any:
        yield "feedback", value


@pytest.mark.parametrize("parallelism", [1, 2])
def test_feedback_of_another_type_comes_by_the_second_input(parallelism: int) -> None:
    env = environment()
    loop = env.from_collection([3, 1, 2], Types.INT()).iterate().with_feedback_type(Types.STRING())
    shorter = loop.map(Shorten(), Types.STRING())
    loop.close_with(shorter.filter(lambda text: len(text) > 0))
    collect(shorter)
    with InProcessJob(env, parallelism) as job:
        assert sorted(job.run_to_end()) == ["", "", "", "x", "x", "x", "xx", "xx", "xxx"]


def test_connected_iterations_can_be_keyed() -> None:
    env = environment()
    loop = numbers(env, 1, 4).iterate().with_feedback_type(None)
    echoed = loop.key_by(lambda n: n, lambda text: len(text)).flat_map(Echo())
    loop.close_with(echoed.filter(lambda item: item[0] == "input").map(lambda item: "x" * item[1]))
    collect(echoed)
    with InProcessJob(env, 3) as job:
        assert sorted(map(str, job.run_to_end())) == sorted(
            [str(("input", n)) for n in range(1, 5)] + [str(("feedback", "x" * n)) for n in range(1, 5)]
        )


def test_the_feedback_type_comes_first() -> None:
    loop = environment().from_collection([1]).iterate()
    loop.map(lambda n: n)
    with pytest.raises(InvalidProgramError, match="before anything else reads it"):
        loop.with_feedback_type(Types.STRING())
    loop = environment().from_collection([1]).iterate()
    connected = loop.with_feedback_type(Types.STRING())
    with pytest.raises(InvalidProgramError, match="call close_with on what with_feedback_type returned"):
        loop.close_with(connected.map(Shorten()))


# --- time ---


class EmitsAtTheEnd(KeyedProcessFunction):
    """Set a timer far in the future: only the end of event time makes it fire."""

    def process_element(self, value: int, ctx: Any) -> Any:
        if value == 7:
            ctx.timer_service().register_event_time_timer(1 << 60)
        yield ("seen", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ("again", 3)


def test_what_the_end_of_event_time_brings_about_goes_round_too() -> None:
    env = environment()
    loop = env.from_collection([7]).iterate()
    results = loop.key_by(lambda n: 0).process(EmitsAtTheEnd())
    again = results.filter(lambda item: item[0] == "again").map(lambda item: item[1])
    loop.close_with(again)
    collect(results)
    with InProcessJob(env, 2) as job:
        assert job.run_to_end() == [("seen", 7), ("again", 3), ("seen", 3)]


class NotesWatermarks(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_the_watermark_of_the_loop_is_that_of_its_input_and_timestamps_are_kept() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Itself())
    loop = env.from_collection([10, 20, 30]).assign_timestamps_and_watermarks(strategy).iterate()
    noted = loop.process(NotesWatermarks())
    loop.close_with(noted.filter(lambda item: item[0] in (10, 11)).map(lambda item: item[0] + 1))
    collect(noted)
    with InProcessJob(env) as job:
        for _ in range(3):
            job.run_epoch(max_records=1)
        lowest = -(1 << 63)
        before, after = [(10, 10, lowest), (11, 10, lowest)], [(12, 10, 9), (20, 20, 9), (30, 30, 19)]
        assert job.collected == before + after


class _Itself:
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


# --- checkpoints ---


@pytest.mark.parametrize("parallelisms", [(2, 2), (1, 3), (3, 2), (3, 1)], ids=str)
@pytest.mark.parametrize("epochs", [1, 3, 8])
def test_records_in_the_loop_are_in_the_checkpoint(tmp_path: Path, parallelisms: tuple[int, int], epochs: int) -> None:
    files = checkpoint_files(str(tmp_path))
    before, after = parallelisms
    with InProcessJob(collatz_job(40, keyed=True), before, files=files) as job:
        for _ in range(epochs):
            job.run_epoch(max_records=9)
        assert job.iterations.more, "records are in the loop"
        checkpoint = job.checkpoint()
        kept = list(job.collected)
        job.run_epoch(max_records=9)  # is lost
    with InProcessJob(collatz_job(40, keyed=True), after, files=files, restore=checkpoint, attempt=1) as job:
        assert sorted(kept + job.run_to_end()) == collatz_golden(40)


def test_timestamps_of_records_in_the_loop_are_kept(tmp_path: Path) -> None:
    def program() -> StreamExecutionEnvironment:
        env = environment()
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Itself())
        loop = env.from_collection([10, 20]).assign_timestamps_and_watermarks(strategy).iterate()
        noted = loop.process(NotesWatermarks()).map(lambda item: (item[0], item[1]))
        loop.close_with(noted.filter(lambda item: item[0] < 60).map(lambda item: item[0] + 20))
        collect(noted)
        return env

    files = checkpoint_files(str(tmp_path))
    with InProcessJob(program(), files=files) as job:
        job.run_epoch(max_records=2)
        checkpoint = job.checkpoint()
    with InProcessJob(program(), files=files, restore=checkpoint, attempt=1) as job:
        assert job.run_to_end() == [(50, 10), (60, 20), (70, 10)]


def test_a_checkpoint_after_the_end_of_the_loop_can_be_restored(tmp_path: Path) -> None:
    files = checkpoint_files(str(tmp_path))
    with InProcessJob(collatz_job(5, keyed=True), 2, files=files) as job:
        job.run_to_end()
        checkpoint = job.checkpoint()
    with InProcessJob(collatz_job(5, keyed=True), 3, files=files, restore=checkpoint, attempt=1) as job:
        assert job.run_to_end() == []


# --- programs that are refused ---


def test_checkpoints_must_be_forced() -> None:
    env = environment()
    env.enable_checkpointing(1_000)
    loop = env.from_collection([1]).iterate()
    loop.close_with(loop.filter(lambda n: False))
    with pytest.raises(InvalidProgramError, match=r"not supported by default for iterative jobs.*force=True"):
        env.execute()
    env.get_checkpoint_config().set_force_checkpointing(True)
    assert env._compile().iterations
    env.get_checkpoint_config().set_force_checkpointing(False)
    env.enable_checkpointing(1_000, force=True)
    assert env.get_checkpoint_config().is_force_checkpointing()
    assert env._compile().iterations


def test_a_loop_must_be_closed() -> None:
    env = environment()
    collect(env.from_collection([1]).iterate())
    with pytest.raises(InvalidProgramError, match="'Iteration' has no feedback"):
        InProcessJob(env)


def test_feedback_must_come_from_the_loop() -> None:
    env = environment()
    source = env.from_collection([1])
    loop = source.iterate()
    with pytest.raises(InvalidProgramError, match="does not originate from said iteration"):
        loop.close_with(source.map(lambda n: n))
    with pytest.raises(InvalidProgramError, match="termination_criterion is not made of"):
        loop.close_with(loop.map(lambda n: n), source)
    with pytest.raises(TypeError, match="close_with takes a DataStream as feedback_stream"):
        loop.close_with(1)  # type: ignore[arg-type]


def test_feedback_must_not_be_keyed() -> None:
    loop = environment().from_collection([1]).iterate()
    with pytest.raises(InvalidProgramError, match="keyed stream"):
        loop.close_with(loop.map(lambda n: n).key_by(lambda n: n))


def test_nested_iterations_are_refused() -> None:
    env = environment()
    outer = env.from_collection([1]).iterate()
    inner = outer.map(lambda n: n).iterate()
    inner.name("inner")
    stepped = inner.map(lambda n: n - 1)
    inner.close_with(stepped.filter(lambda n: n > 0))
    outer.close_with(stepped.filter(lambda n: n <= 0))
    with pytest.raises(InvalidProgramError, match="'inner' is inside the loop of iteration 'Iteration'"):
        InProcessJob(env)


@pytest.mark.parametrize("arguments", [{"max_wait_ms": -1}, {"max_iterations": 0}], ids=str)
def test_senseless_numbers_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        environment().from_collection([1]).iterate(**arguments)


def test_the_number_of_the_round_is_for_rounds() -> None:
    class Asks(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_superstep_number()

        def map(self, value: int) -> int:
            return value

    env = environment()
    loop = env.from_collection([1]).iterate()
    loop.close_with(loop.map(Asks()).filter(lambda n: False))
    with pytest.raises(OperatorError) as caught:
        InProcessJob(env)
    assert "is not in an iteration with rounds" in str(caught.value.__cause__)


class MinusOneLater(AsyncFunction):
    """Take some time, in which nothing of the loop is in any queue."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.02)
        return [value - 1]


def test_a_loop_is_not_over_while_requests_of_an_async_function_are_under_way() -> None:
    env = environment()
    loop = numbers(env, 1, 4).iterate()
    later = AsyncDataStream.unordered_wait(loop, MinusOneLater(), Time.seconds(60), 10)
    loop.close_with(later.filter(lambda n: n > 0))
    collect(later.filter(lambda n: n <= 0))
    with InProcessJob(env, 2) as job:
        assert job.run_to_end() == [0, 0, 0, 0]
