"""The operator of AsyncDataStream, alone: order, capacity, time-outs, retries, errors, state."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pytest

from rekindle.common import Time
from rekindle.contracts.functions.async_functions import AsyncFunctionDescriptor, AsyncRetryPredicate
from rekindle.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from rekindle.datastream.async_retry_predicates import empty_result_predicate, exception_type_predicate
from rekindle.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidProgramError, StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.async_io.async_wait import ELEMENTS, AsyncWaitOperator
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.slot.failed_record import failed_record
from rekindle.testing import OperatorHarness
from support.async_functions import Gated, Late
from support.processes import wait_until

ORDERED, UNORDERED = AsyncFunctionDescriptor.OutputMode
HOUR = 3_600_000

Opener = Callable[..., OperatorHarness]


@pytest.fixture
def opened() -> Iterator[Opener]:
    harnesses: list[OperatorHarness] = []

    def open_operator(
        function: AsyncFunction,
        mode: AsyncFunctionDescriptor.OutputMode = UNORDERED,
        capacity: int = 100,
        strategy: AsyncRetryStrategy = NO_RETRY_STRATEGY,
        timeout: int = HOUR,
        **settings: Any,
    ) -> OperatorHarness:
        descriptor = AsyncFunctionDescriptor(function, Time.milliseconds(timeout), capacity, strategy, mode)
        harnesses.append(OperatorHarness(AsyncWaitOperator(descriptor), **settings))
        return harnesses[-1]

    yield open_operator
    for harness in harnesses:
        harness.close()


def results_of(harness: OperatorHarness) -> list[Any]:
    """Wait until there is something to emit, and emit it as an epoch does."""
    wait_until(harness.operator.has_more, "there are results")
    return harness.advance_processing_time(harness.clock.now())


def run(harness: OperatorHarness, *values: Any) -> list[Any]:
    """Process elements to the end; results may come at once."""
    harness.process(*values)
    harness.finish()
    return harness.output


def test_processing_does_not_wait_for_results(opened: Opener) -> None:
    function = Gated()
    harness = opened(function)
    assert harness.process(1, 2) == []
    assert not harness.operator.has_more()
    function.answer(2, ["two", "deux"])
    assert results_of(harness) == ["two", "deux"]
    assert not harness.operator.has_more()
    function.answer(1, ["one"])
    assert harness.finish() == ["one"]


def test_in_ordered_mode_results_come_in_the_order_of_the_elements(opened: Opener) -> None:
    function = Gated()
    harness = opened(function, ORDERED)
    harness.process(1, 2, 3)
    function.answer(3, ["c"])
    function.answer(2, ["b"])
    wait_until(lambda: sum(element.done for element in harness.operator._requests.queue.pending) == 2, "two are done")
    assert harness.advance_processing_time(0) == []
    function.answer(1, ["a"])
    assert results_of(harness) == ["a", "b", "c"]


def test_a_result_has_the_timestamp_of_its_element(opened: Opener) -> None:
    class Twice(AsyncFunction):
        async def async_invoke(self, value: int) -> list[int]:
            return [value, -value]

    operator = opened(Twice(), ORDERED).operator
    parts = [operator.process(Chunk([1, 2], [10, None])), operator.finish()]
    values = [value for part in parts if part for value in part.values]
    timestamps = [timestamp for part in parts if part for timestamp in part.timestamps or []]
    assert (values, timestamps) == ([1, -1, 2, -2], [10, 10, None, None])
    for part in (operator.process(Chunk([3])), operator.finish()):
        assert part is None or part.timestamps is None


def test_a_watermark_waits_for_the_elements_before_it(opened: Opener) -> None:
    function = Gated()
    harness = opened(function)
    operator = harness.operator
    harness.process(1, 2)
    harness.advance_watermark(100)
    harness.process(3)
    assert operator.output_watermark(100) == MIN_WATERMARK
    function.answer(3, ["after"])
    function.answer(2, ["before"])
    assert results_of(harness) == ["before"]
    assert operator.output_watermark(100) == MIN_WATERMARK
    function.answer(1, [])
    assert results_of(harness) == ["after"]
    assert operator.output_watermark(100) == 100


def test_an_epoch_is_asked_for_when_only_a_watermark_can_go_on(opened: Opener) -> None:
    function = Gated()
    harness = opened(function)
    harness.process(1)
    harness.advance_watermark(5)
    function.answer(1, [])
    assert harness.operator.output_watermark(5) == MIN_WATERMARK
    assert results_of(harness) == []
    assert harness.operator.output_watermark(5) == 5
    assert not harness.operator.has_more()


def test_a_stream_with_elements_under_way_is_not_idle(opened: Opener) -> None:
    function = Gated()
    harness = opened(function)
    assert harness.operator.output_idle(True)
    harness.process(1)
    assert not harness.operator.output_idle(True)
    function.answer(1, [])
    results_of(harness)
    assert harness.operator.output_idle(True)


@pytest.mark.parametrize("mode", [ORDERED, UNORDERED])
def test_no_more_than_the_capacity_is_under_way_and_processing_waits(opened: Opener, mode: Any) -> None:
    function = Gated()
    harness = opened(function, mode, capacity=2)
    processing = Thread(target=lambda: harness.process(1, 2, 3, 4))
    processing.start()
    wait_until(lambda: len(function.started) == 2, "two have started")
    assert processing.is_alive()
    function.answer(1, ["a"])
    wait_until(lambda: len(function.started) == 3, "another has started")
    assert processing.is_alive()
    function.answer(2, ["b"])
    processing.join(60)
    assert harness.output == ["a", "b"]
    function.answer(3, ["c"])
    function.answer(4, ["d"])
    harness.finish()
    assert sorted(harness.output) == ["a", "b", "c", "d"]


def test_elements_time_out_by_the_clock_and_what_comes_later_is_ignored(opened: Opener) -> None:
    function = Late()
    harness = opened(function)
    harness.process(1)
    harness.clock.set(HOUR // 2)
    harness.process(2)
    assert harness.advance_processing_time(HOUR // 2) == []
    assert harness.advance_processing_time(HOUR) == ["late 1"]
    assert harness.advance_processing_time(HOUR + HOUR // 2) == ["late 2"]
    function.answer(1, ["too late"])
    harness.process(3)
    function.answer(3, ["in time"])
    assert results_of(harness) == ["in time"]


def test_elements_time_out_by_themselves_when_no_epoch_comes(opened: Opener) -> None:
    harness = opened(Late(), timeout=1)
    assert sorted(run(harness, 1, 2)) == ["late 1", "late 2"]


def test_a_timeout_that_is_not_handled_fails_the_job(opened: Opener) -> None:
    harness = opened(Gated())
    harness.process("x")
    with pytest.raises(TimeoutError, match="Async function call has timed out for input: x"):
        harness.advance_processing_time(HOUR)


def test_without_a_timeout_elements_wait_for_ever(opened: Opener) -> None:
    function = Late()
    harness = opened(function, timeout=0)
    harness.process(1)
    assert harness.advance_processing_time(1_000 * HOUR) == []
    function.answer(1, ["at last"])
    assert harness.finish() == ["at last"]


class Flaky(AsyncFunction):
    """Fail in some attempts, each in its own way."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.attempts = 0

    async def async_invoke(self, value: Any) -> Any:
        outcome = self.outcomes[min(self.attempts, len(self.outcomes) - 1)]
        self.attempts += 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def timeout(self, value: Any) -> list[str]:
        return [f"late {value} after {self.attempts} attempts"]


def retrying(max_attempts: int = 3, pause: int = 1) -> AsyncRetryStrategy:
    on_error = functools.partial(exception_type_predicate, expected_error_type=OSError)
    return AsyncRetryStrategy.fixed_delay(max_attempts, pause, empty_result_predicate, on_error)


def test_attempts_are_repeated_as_the_strategy_says(opened: Opener) -> None:
    function = Flaky(OSError("down"), [], ["there"])
    harness = opened(function, strategy=retrying())
    assert run(harness, 1) == ["there"]
    assert function.attempts == 3


def test_after_the_last_attempt_its_outcome_counts(opened: Opener) -> None:
    empty = Flaky([])
    harness = opened(empty, strategy=retrying(2))
    assert (run(harness, 1), empty.attempts) == ([], 3)
    failing = opened(Flaky(OSError("down")), strategy=retrying(2))
    with pytest.raises(OSError, match="down"):
        run(failing, 1)


def test_an_exception_that_the_strategy_does_not_name_is_not_tried_again(opened: Opener) -> None:
    function = Flaky(KeyError("other"))
    harness = opened(function, strategy=retrying())
    with pytest.raises(KeyError):
        run(harness, 1)
    assert function.attempts == 1


def test_pauses_between_attempts_go_by_the_clock_too(opened: Opener) -> None:
    function = Flaky([], ["there"])
    harness = opened(function, strategy=retrying(pause=HOUR // 2))
    harness.process(1)
    wait_until(lambda: harness.operator._requests._retrying, "it waits to be tried again")
    harness.advance_processing_time(HOUR // 2)
    assert results_of(harness) == ["there"]


def test_the_timeout_covers_all_attempts_together(opened: Opener) -> None:
    function = Flaky([])
    harness = opened(function, strategy=retrying(100, pause=HOUR // 2))
    harness.process(1)
    wait_until(lambda: harness.operator._requests._retrying, "it waits to be tried again")
    harness.advance_processing_time(HOUR // 2)
    wait_until(lambda: function.attempts == 2 and harness.operator._requests._retrying, "it waits again")
    assert harness.advance_processing_time(HOUR) == ["late 1 after 2 attempts"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (
            5,
            "The result of AsyncFunction should be of list type, please check the methods 'async_invoke' and 'timeout'",
        ),
        (None, "The result of AsyncFunction cannot be none"),
    ],
)
def test_results_must_be_a_list(opened: Opener, outcome: Any, words: str) -> None:
    harness = opened(Flaky(outcome))
    with pytest.raises(TypeError, match=words):
        run(harness, 1)


@pytest.mark.parametrize("outcome", [(1, 2), {1: "x", 2: "y"}.keys(), range(1, 3)])
def test_any_iterable_is_as_good_as_a_list(opened: Opener, outcome: Any) -> None:
    harness = opened(Flaky(outcome))
    assert run(harness, "x") == [1, 2]


def test_an_exception_names_the_element_and_comes_with_the_next_epoch(opened: Opener) -> None:
    function = Gated()
    harness = opened(function)
    harness.process("some customer")
    function.answer("some customer", ValueError("no such thing"))
    wait_until(harness.operator.has_more, "the failure is known")
    with pytest.raises(ValueError, match="no such thing") as caught:
        harness.advance_processing_time(0)
    found = failed_record(caught.value)
    assert found is not None
    assert found.text == "record 'some customer'"


@pytest.mark.parametrize("end", [asyncio.CancelledError(), SystemExit(1)])
def test_user_code_that_ends_its_task_fails_the_job_and_not_the_loop(opened: Opener, end: BaseException) -> None:
    harness = opened(Flaky(end))
    with pytest.raises(type(end)):
        run(harness, 1)


def test_a_predicate_that_raises_fails_the_job(opened: Opener) -> None:
    def broken(_: Any) -> bool:
        raise LookupError("in the predicate")

    harness = opened(Flaky([]), strategy=AsyncRetryStrategy.fixed_delay(1, 1, broken, None))
    with pytest.raises(LookupError, match="in the predicate"):
        run(harness, 1)


def test_results_cannot_be_changed_once_they_are_given(opened: Opener) -> None:
    class KeepsIt(AsyncFunction):
        def __init__(self) -> None:
            self.kept: list[dict[str, int]] = []

        async def async_invoke(self, value: int) -> list[dict[str, int]]:
            result = {"value": value}
            for earlier in self.kept:
                earlier["value"] = -1
            self.kept.append(result)
            return [result]

    assert run(opened(KeepsIt(), ORDERED), 1, 2, 3) == [{"value": 1}, {"value": 2}, {"value": 3}]


# --- state ---


def test_elements_without_results_are_state_and_start_again_before_others(opened: Opener) -> None:
    function = Gated()
    harness = opened(function, ORDERED)
    harness.process("a", "b", "c", timestamps=[1, None, 3])
    function.answer("a", ["A"])
    wait_until(harness.operator.has_more, "the first is done, and has not gone on")
    snapshot = harness.snapshot()
    assert len(snapshot.lists[ELEMENTS]) == 3
    again = Gated()
    restored = opened(again, ORDERED, restored=[snapshot])
    restored.process("d", timestamps=[4])
    wait_until(lambda: len(again.started) == 4, "all have started")
    assert again.started == ["a", "b", "c", "d"]
    for value in "dcba":
        again.answer(value, [value.upper()])
    chunk = restored.operator.finish()
    assert chunk is not None
    assert (chunk.values, chunk.timestamps) == (["A", "B", "C", "D"], [1, None, 3, 4])
    assert len(restored.snapshot().lists[ELEMENTS]) == 0


def test_more_restored_elements_than_the_capacity_wait_for_room(opened: Opener) -> None:
    snapshots = []
    for values in ((1, 2), (3, 4), (5, 6)):
        harness = opened(Gated(), capacity=2, subtask=len(snapshots), parallelism=3)
        harness.process(*values)
        snapshots.append(harness.snapshot())
    function = Gated()
    restored = opened(function, capacity=2, restored=snapshots)
    wait_until(lambda: len(function.started) == 2, "two have started")
    assert len(restored.snapshot().lists[ELEMENTS]) == 6
    for value in range(1, 7):
        function.answer(value, [value])
    assert restored.finish() == [1, 2, 3, 4, 5, 6]


def test_elements_are_dealt_out_evenly_on_a_rescale(opened: Opener) -> None:
    harness = opened(Gated())
    harness.process(*range(7))
    snapshot = harness.snapshot()
    functions = [Gated() for _ in range(3)]
    for subtask, function in enumerate(functions):
        opened(function, restored=[snapshot], subtask=subtask, parallelism=3)
    wait_until(lambda: sum(len(function.started) for function in functions) == 7, "all have started")
    assert [function.started for function in functions] == [[0, 1, 2], [3, 4], [5, 6]]


def test_the_attempts_of_an_element_are_kept(opened: Opener) -> None:
    harness = opened(Flaky([]), strategy=retrying(3, pause=HOUR // 2))
    harness.process(1)
    wait_until(lambda: harness.operator._requests._retrying, "it waits to be tried again")
    harness.advance_processing_time(HOUR // 2)
    wait_until(lambda: harness.operator.function.attempts == 2, "it was tried twice")  # type: ignore[attr-defined]
    function = Flaky([])
    restored = opened(function, strategy=retrying(3), restored=[harness.snapshot()])
    assert restored.finish() == []
    assert function.attempts == 3  # the second, which is repeated, and two more


def test_an_async_function_has_no_keyed_state() -> None:
    class WantsState(AsyncFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("x"))

        async def async_invoke(self, value: Any) -> list[Any]:
            return [value]

    descriptor = AsyncFunctionDescriptor(WantsState(), Time.seconds(1), 1, NO_RETRY_STRATEGY, ORDERED)
    with pytest.raises(StateAccessError, match="AsyncFunction has no keyed state"):
        OperatorHarness(AsyncWaitOperator(descriptor), lambda value: value)


# --- how it is put on a stream ---


@dataclass(frozen=True)
class Settings:
    function: Any = None
    timeout: int = 1
    capacity: int = 1
    strategy: Any = NO_RETRY_STRATEGY


class NotAsync(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:  # type: ignore[override]
        return [value]


class NoPredicate(AsyncRetryStrategy):
    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        (Settings(NotAsync()), InvalidProgramError, "should be declared as 'async def'"),
        (Settings(lambda value: value), TypeError, "takes an AsyncFunction"),
        (Settings(strategy=None), InvalidProgramError, "Async retry strategy should not be None."),
        (Settings(timeout=0, strategy=retrying()), ConfigurationError, "Timeout should be configured"),
        (Settings(strategy=NoPredicate()), InvalidProgramError, "Retry predicate of the async retry strategy"),
        (Settings(capacity=0), ConfigurationError, "must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: Settings, error: type[Exception], words: str) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    function = settings.function or Gated()
    for put in (AsyncDataStream.ordered_wait_with_retry, AsyncDataStream.unordered_wait_with_retry):
        with pytest.raises(error, match=words):
            put(stream, function, Time.seconds(settings.timeout), settings.strategy, settings.capacity)


def test_the_operator_is_named_as_in_pyflink() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    for put in (AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait):
        assert put(stream, Gated(), Time.seconds(1)).get_name() == "async wait operator"
