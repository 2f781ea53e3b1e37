"""AsyncDataStream in whole jobs: epochs that results ask for, watermarks, crashes, rescaling."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rekindle.base.clock import SystemClock
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Duration, Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AsyncDataStream, AsyncFunction, ProcessFunction, StreamExecutionEnvironment
from rekindle.runtime.operators.async_io.async_wait import AsyncWaitOperator
from rekindle.runtime.slot.failure import OperatorError
from support.async_functions import Gated
from support.in_process_job import InProcessJob, collect
from support.processes import wait_until

PUT = {"ordered": AsyncDataStream.ordered_wait, "unordered": AsyncDataStream.unordered_wait}


class Slow(AsyncFunction):
    """Take longer for some elements than for others."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep((value * 7919 % 5) / 2000)
        return [value, -value] if value % 3 else []


class Ends(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def numbers(count: int, function: AsyncFunction, mode: str, capacity: int = 20) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(count))).uid("numbers").rebalance()
    collect(PUT[mode](stream, function, Time.hours(1), capacity).uid("async"))
    return env


def functions(job: InProcessJob) -> list[Any]:
    return [r.operator.function for slot in job.slots for r in slot._graph if isinstance(r.operator, AsyncWaitOperator)]


def expected(count: int) -> Counter[int]:
    return Counter(result for value in range(count) if value % 3 for result in (value, -value))


@pytest.mark.parametrize("mode", PUT)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_every_element_has_its_results_once(mode: str, parallelism: int) -> None:
    with InProcessJob(numbers(300, Slow(), mode), parallelism) as job:
        collected = job.run_to_end(50)
    assert Counter(collected) == expected(300)
    if mode == "ordered" and parallelism == 1:
        assert collected == [result for value in range(300) if value % 3 for result in (value, -value)]


def test_results_ask_for_an_epoch_once_and_the_report_says_that_there_are_more() -> None:
    with InProcessJob(numbers(2, Gated(), "unordered")) as job:
        (report,) = job.run_epoch(max_records=1)
        (function,) = functions(job)
        assert job.requests == 0
        function.answer(0, ["a", "b"])
        wait_until(lambda: job.requests, "an epoch is asked for")
        (report,) = job.run_epoch(max_records=0)
        assert (job.collected, job.requests) == (["a", "b"], 1)
        assert report.more  # the source has
        answering = Thread(target=function.answer, args=(1, ["c"]))
        answering.start()
        assert job.run_to_end() == ["a", "b", "c"]  # the end of the input waits for it
        answering.join()


def test_no_request_times_out_because_somebody_has_set_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with InProcessJob(numbers(2, Gated(), "unordered"), clock=SystemClock()) as job:  # type: ignore[arg-type]
        job.run_epoch(max_records=1)
        (function,) = functions(job)
        wall = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: wall() + 2 * 3_600 * 10**9)  # twice the timeout
        (report,) = job.run_epoch(max_records=0)
        assert report.clock_set == pytest.approx(7_200_000, abs=5_000)
        function.answer(0, ["a"])
        wait_until(lambda: job.requests, "an epoch is asked for")
        job.run_epoch(max_records=0)
        assert job.collected == ["a"]


class Lateness(ProcessFunction):
    """Tell of each record whether it comes behind the watermark."""

    def process_element(self, value: int, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark() >= ctx.timestamp()


@pytest.mark.parametrize("mode", PUT)
def test_no_result_is_late_that_was_not_late_before(mode: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0)).with_timestamp_assigner(Ends())
    stream = env.from_collection(list(range(500))).assign_timestamps_and_watermarks(strategy)
    collect(PUT[mode](stream, Slow(), Time.hours(1), 50).process(Lateness()))
    with InProcessJob(env) as job:
        collected = job.run_to_end(20)
    assert Counter(value for value, _, _ in collected) == expected(500)
    assert all(abs(value) == timestamp and not late for value, timestamp, late in collected)


@pytest.mark.parametrize("mode", PUT)
@pytest.mark.parametrize("steps", [(2, 2), (2, 3, 1)])
def test_elements_under_way_at_a_crash_are_neither_lost_nor_doubled(
    tmp_path: Path, mode: str, steps: tuple[int, ...]
) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    stored, kept = None, 0
    results: list[Any] = []
    for attempt, parallelism in enumerate(steps):
        last = attempt == len(steps) - 1
        program = numbers(300, Slow() if last else Gated(), mode, capacity=1_000)
        with InProcessJob(program, parallelism, files=files, restore=stored, attempt=attempt) as job:
            if last:
                results += job.run_to_end(30)
                break
            job.run_epoch(max_records=60)
            for function in functions(job):
                wait_until(lambda function=function: function.started, "requests are under way")
                head = function.started[0]
                function.answer(head, [head, -head] if head % 3 else [])
            wait_until(lambda: job.requests == len(functions(job)), "all subtasks have asked for an epoch")
            job.run_epoch(max_records=0)
            results += job.collected
            stored = job.checkpoint()
            kept = len(job.collected)
            job.run_epoch(max_records=60)  # lost in the crash
            assert len(job.collected) == kept
    assert Counter(results) == expected(300)


def test_what_a_coroutine_raises_fails_the_operator_with_the_users_traceback() -> None:
    with InProcessJob(numbers(2, Gated(), "ordered")) as job:
        job.run_epoch(max_records=1)
        functions(job)[0].answer(0, ValueError("not today"))
        wait_until(lambda: job.requests, "an epoch is asked for")
        with pytest.raises(OperatorError) as caught:
            job.run_epoch(max_records=0)
    assert caught.value.node.name == "async wait operator"
    assert isinstance(caught.value.__cause__, ValueError)


def test_two_operators_of_a_slot_share_its_event_loop() -> None:
    class WhichLoop(AsyncFunction):
        async def async_invoke(self, value: list[int]) -> list[list[int]]:
            return [[*value, id(asyncio.get_running_loop())]]

    env = StreamExecutionEnvironment.get_execution_environment()
    first = AsyncDataStream.ordered_wait(env.from_collection([[]]), WhichLoop(), Time.seconds(60))
    collect(AsyncDataStream.ordered_wait(first, WhichLoop(), Time.seconds(60)))
    with InProcessJob(env) as job:
        ((one, other),) = job.run_to_end()
    assert one == other


def test_a_keyed_stream_hands_over_its_values() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([1, 2, 4]).key_by(lambda value: value % 2)
    collect(AsyncDataStream.ordered_wait(keyed, Slow(), Time.hours(1)))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [-4, -2, -1, 1, 2, 4]
