"""The operator that runs a source function, driven as a slot drives it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    ListCheckpointed,
    RichSourceFunction,
    SourceFunction,
)
from rekindle.datastream.state import ListStateDescriptor
from rekindle.exceptions import InvalidProgramError, SerializationError
from rekindle.runtime.operators import function_source
from rekindle.runtime.operators.checkpoint_lock import SourceClosedError
from rekindle.runtime.operators.function_source import FunctionSourceOperator
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.testing import OperatorHarness
from support.processes import wait_until
from support.sources import Steered

opened: list[OperatorHarness] = []


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    for harness in opened:
        harness.close()
    opened.clear()


def open_source(function: SourceFunction, type_info: Any = None, **settings: Any) -> OperatorHarness:
    """Open a source and let its thread start; the slot has been told that no epoch is needed."""
    harness = OperatorHarness(FunctionSourceOperator(function, type_info), name="numbers", **settings)
    opened.append(harness)
    return harness


def started(function: Steered, type_info: Any = None, **settings: Any) -> OperatorHarness:
    harness = open_source(function, type_info, **settings)
    asked: list[int] = []
    operator: Any = harness.operator
    operator._slot = replace(operator._slot, request_epoch=lambda: asked.append(1))
    harness.asked = asked  # type: ignore[attr-defined]
    poll(harness)
    assert not harness.operator.has_more()
    return harness


def poll(harness: OperatorHarness, most: int = 1_000_000) -> list[Any]:
    """Do what a slot does in an epoch: poll until there is nothing, then move time."""
    values: list[Any] = []
    operator: Any = harness.operator
    while len(values) < most and (chunk := operator.poll(most - len(values))) is not None:
        values += operator.stamped(chunk).values
    operator.advance_processing_time(0)
    return values


def first_epoch(harness: OperatorHarness) -> list[Any]:
    """Run the first epoch after a restore; it may be that buffers leave in it, and nothing else."""
    operator: Any = harness.operator
    values = [value for chunk in operator.waiting() for value in chunk.values] + poll(harness)
    operator.advance_processing_time(harness.clock.now())
    return values


def collect(*values: Any) -> Any:
    def step(ctx: Any) -> None:
        for value in values:
            ctx.collect(value)

    return step


def test_what_is_collected_comes_out_and_ends_when_run_returns() -> None:
    source = Steered()
    harness = started(source)
    source.do(collect(1, 2, 3))
    assert harness.operator.has_more()
    assert poll(harness) == [1, 2, 3]
    assert not harness.operator.has_more()
    assert not harness.operator.finished()  # type: ignore[attr-defined]
    source.end()
    wait_until(harness.operator.finished, "run has returned")  # type: ignore[attr-defined]


def test_the_function_does_not_run_before_the_first_epoch() -> None:
    harness = open_source(Steered())
    assert harness.operator._thread is None  # type: ignore[attr-defined]
    assert harness.operator.has_more()


def test_an_epoch_is_asked_for_once_until_the_slot_says_that_none_is_coming() -> None:
    source = Steered()
    harness = started(source)
    asked: list[int] = harness.asked  # type: ignore[attr-defined]
    source.do(collect(1))
    source.do(collect(2, 3))
    assert len(asked) == 1
    assert poll(harness, most=2) == [1, 2]
    assert harness.operator.has_more()
    source.do(collect(4))
    assert len(asked) == 1, "an epoch comes because there is more"
    assert poll(harness) == [3, 4]
    assert not harness.operator.has_more()
    source.do(lambda ctx: ctx.emit_watermark(7))
    assert len(asked) == 2
    poll(harness)
    assert not harness.operator.has_more()
    source.do(lambda ctx: ctx.mark_as_temporarily_idle())
    assert len(asked) == 3
    poll(harness)
    assert not harness.operator.has_more()
    source.end()
    wait_until(lambda: len(asked) == 4, "the end is told")


def test_timestamps_watermarks_and_idleness_keep_their_places() -> None:
    source = Steered()
    harness = started(source)
    operator: Any = harness.operator

    def step(ctx: Any) -> None:
        ctx.collect_with_timestamp("a", 5)
        ctx.emit_watermark(5)
        ctx.collect_with_timestamp("b", 9)
        ctx.emit_watermark(9)
        ctx.mark_as_temporarily_idle()

    source.do(step)
    (chunk,) = operator.pieces(operator.poll(1))
    assert (chunk.values, chunk.timestamps) == (["a"], [5])
    assert operator.output_watermark(MIN_WATERMARK) == 5
    assert not operator.output_idle(False)
    operator.advance_processing_time(0)
    (chunk,) = operator.pieces(operator.poll(1))
    assert (chunk.values, chunk.timestamps) == (["b"], [9])
    assert operator.output_watermark(MIN_WATERMARK) == 9
    assert operator.output_idle(False)
    source.do(lambda ctx: ctx.collect("c"))
    poll(harness)
    assert not operator.output_idle(False)


def test_a_watermark_stands_right_behind_the_elements_before_it() -> None:
    source = Steered()
    harness = started(source)
    operator: Any = harness.operator

    def step(ctx: Any) -> None:
        for element, watermark in (("a", None), ("b", 5), ("c", 4), ("d", 7), ("e", None)):
            ctx.collect(element)
            if watermark is not None:
                ctx.emit_watermark(watermark)

    source.do(step)
    seen = [(chunk.values, operator.output_watermark(MIN_WATERMARK)) for chunk in operator.pieces(operator.poll(10))]
    assert seen == [(["a", "b"], 5), (["c", "d"], 7), (["e"], 7)]


@pytest.mark.parametrize("method", ["collect_with_timestamp", "emit_watermark"])
def test_a_timestamp_that_is_no_number_is_refused(method: str) -> None:
    source = Steered()
    harness = started(source)
    arguments = ["a", "noon"] if method == "collect_with_timestamp" else ["noon"]
    source.do(lambda ctx: getattr(ctx, method)(*arguments))
    wait_until(harness.operator.has_more, "the failure is told")
    with pytest.raises(TypeError, match=f"{method} was given as 'noon'"):
        poll(harness)


def test_an_element_that_the_source_changes_afterwards_stays_as_it_was() -> None:
    source = Steered()
    harness = started(source)

    def step(ctx: Any) -> None:
        row: list[int] = []
        for number in range(3):
            row.append(number)
            ctx.collect(row)

    source.do(step)
    assert poll(harness) == [[0], [0, 1], [0, 1, 2]]


def test_a_source_waits_for_room_outside_of_a_step_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_source, "_ROOM", 10)
    source = Steered()
    harness = started(source)

    def step(ctx: Any) -> None:
        with ctx.get_checkpoint_lock():
            for number in range(25):
                ctx.collect(number)  # does not wait: it is inside
        ctx.collect(25)

    source.begin(step)
    wait_until(harness.operator.has_more, "elements come")
    values: list[Any] = []
    while len(values) < 26:
        harness.snapshot()  # never waits for the source
        values += poll(harness, 7)
    assert values == list(range(26))
    source._done.acquire(timeout=60)


def test_few_large_elements_wait_and_many_small_ones() -> None:
    source = Steered()
    harness = started(source)
    rooms = []
    for size in (1 << 20, 1):
        source.do(collect("x" * size))
        poll(harness)
        rooms.append(harness.operator._room)  # type: ignore[attr-defined]
    assert rooms == [63, 100_000]


def test_what_run_raises_is_raised_by_the_next_poll_and_the_next_snapshot() -> None:
    class Broken(SourceFunction):
        def run(self, ctx: Any) -> None:
            raise ValueError("no such table")

        def cancel(self) -> None:
            pass

    harness = open_source(Broken())
    with pytest.raises(ValueError, match="no such table") as caught:
        wait_until(lambda: poll(harness), "poll raises")
    assert any(entry.name == "run" for entry in caught.traceback)
    with pytest.raises(ValueError, match="no such table"):
        harness.snapshot()
    assert not harness.operator.finished()  # type: ignore[attr-defined]


def test_sys_exit_in_run_fails_the_job() -> None:
    class Leaves(SourceFunction):
        def run(self, ctx: Any) -> None:
            raise SystemExit(3)

        def cancel(self) -> None:
            pass

    harness = open_source(Leaves())
    with pytest.raises(SystemExit, match="3"):
        wait_until(lambda: poll(harness), "poll raises")


def test_closing_cancels_the_source_and_ends_a_thread_that_goes_on_emitting() -> None:
    class Deaf(SourceFunction):
        def __init__(self) -> None:
            self.calls: list[str] = []

        def run(self, ctx: Any) -> None:
            try:
                while True:
                    try:
                        ctx.collect(1)
                    except Exception:
                        self.calls.append("swallowed")
            finally:
                self.calls.append("run ended")

        def cancel(self) -> None:
            self.calls.append("cancel")

        def close(self) -> None:
            self.calls.append("close")

    function = Deaf()
    harness = open_source(function)
    wait_until(lambda: poll(harness, 10), "elements come")
    opened.remove(harness)
    harness.close()
    harness.operator._thread.join(60)  # type: ignore[attr-defined]
    assert sorted(function.calls) == ["cancel", "close", "run ended"]


def test_a_source_that_does_not_return_does_not_keep_the_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_source, "_END_SECONDS", 0.01)
    let_go = threading.Event()

    class Hangs(SourceFunction):
        closed = False

        def run(self, ctx: Any) -> None:
            let_go.wait(60)

        def cancel(self) -> None:
            pass

        def close(self) -> None:
            self.closed = True

    function = Hangs()
    harness = open_source(function)
    poll(harness)
    opened.remove(harness)
    harness.close()
    assert function.closed
    thread = harness.operator._thread  # type: ignore[attr-defined]
    assert thread.daemon
    let_go.set()
    thread.join(60)


def test_an_exception_after_cancel_is_told_to_nobody() -> None:
    class Interrupted(Steered):
        def cancel(self) -> None:
            def fail(ctx: Any) -> None:
                raise OSError("the connection was closed")

            self.begin(fail)

    harness = started(Interrupted())
    opened.remove(harness)
    harness.close()
    harness.operator._thread.join(60)  # type: ignore[attr-defined]
    assert harness.asked == []  # type: ignore[attr-defined]


def test_cancel_is_not_called_after_run_has_returned() -> None:
    source = Steered()
    harness = started(source)
    source.end()
    wait_until(harness.operator.finished, "run has returned")  # type: ignore[attr-defined]
    harness.operator._thread.join(60)  # type: ignore[attr-defined]
    opened.remove(harness)
    harness.close()
    assert not source.cancelled


# --- state ---


@pytest.mark.parametrize("type_info", [None, Types.LONG()], ids=["pickled", "typed"])
def test_what_waits_in_the_buffer_is_part_of_the_snapshot_and_comes_first(type_info: Any) -> None:
    source = Steered()
    harness = started(source, type_info)
    source.do(collect(*range(1_000)))
    assert poll(harness, 10) == list(range(10))
    snapshot = harness.snapshot()
    again = Steered()
    restored = open_source(again, type_info, restored=[snapshot])
    assert restored.operator.has_more()
    again.begin(collect(1_000))
    values: list[Any] = []
    wait_until(lambda: values.extend(poll(restored)) or len(values) == 991, "all come")
    assert values == list(range(10, 1_001))


def test_timestamps_of_what_waits_are_kept() -> None:
    source = Steered()
    harness = started(source)
    source.do(lambda ctx: ctx.collect_with_timestamp("a", 5))
    source.do(collect("b"))
    restored = open_source(Steered(), restored=[harness.snapshot()])
    chunk = restored.operator.poll(10)  # type: ignore[attr-defined]
    assert (chunk.values, chunk.timestamps) == (["a", "b"], [5, None])


def test_what_waits_in_a_buffer_stays_together_with_another_parallelism() -> None:
    sources = [Steered(), Steered()]
    harnesses = [started(source, subtask=n, parallelism=2) for n, source in enumerate(sources)]
    for n, source in enumerate(sources):
        source.do(collect(*range(n * 1_000, (n + 1) * 1_000)))
    snapshots = [harness.snapshot() for harness in harnesses]
    for parallelism in (1, 3):
        values: list[Any] = []
        for subtask in range(parallelism):
            restored = open_source(Steered(), subtask=subtask, parallelism=parallelism, restored=snapshots)
            own = first_epoch(restored)
            assert len(own) % 1_000 == 0
            values += own
        assert values == list(range(2_000))


def test_with_another_parallelism_no_source_runs_before_all_buffers_are_empty() -> None:
    source = Steered()
    harness = started(source)
    source.do(collect(1, 2))
    snapshots = [harness.snapshot()]
    for _ in range(2):  # the second time from a snapshot that was taken before the first epoch
        restored = [open_source(Steered(), subtask=subtask, parallelism=2, restored=snapshots) for subtask in range(2)]
        snapshots = [restored[subtask].snapshot() for subtask in range(2)]
        assert all(harness.operator.has_more() for harness in restored)
        assert [first_epoch(harness) for harness in restored] == [[1, 2], []]
        assert all(harness.operator._thread is None for harness in restored)  # type: ignore[attr-defined]
        assert [first_epoch(harness) for harness in restored] == [[], []]
        assert all(harness.operator._thread is not None for harness in restored)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("ended", "parallelism", "runs"),
    [
        ([False], 1, [True]),
        ([True], 1, [False]),
        ([True, False], 2, [False, True]),
        ([True, True], 3, [False, False, False]),
        ([True, False], 3, [True, True, True]),
        ([True, False], 1, [True]),
        ([True, True], 1, [False]),
    ],
)
def test_a_source_that_had_ended_does_not_run_again(ended: list[bool], parallelism: int, runs: list[bool]) -> None:
    snapshots = []
    for subtask, over in enumerate(ended):
        source = Steered()
        harness = started(source, subtask=subtask, parallelism=len(ended))
        source.do(collect(subtask))
        if over:
            source.end()
            wait_until(lambda h=harness: h.operator._ended, "run has returned")
        snapshots.append(harness.snapshot())
    values: list[Any] = []
    found = []
    for subtask in range(parallelism):
        harness = open_source(Steered(), subtask=subtask, parallelism=parallelism, restored=snapshots)
        values += first_epoch(harness) + poll(harness)
        found.append(harness.operator._thread is not None)  # type: ignore[attr-defined]
        assert harness.operator.finished() is not found[-1]  # type: ignore[attr-defined]
    assert found == runs
    assert sorted(values) == list(range(len(ended))), "what had waited comes all the same"


def test_an_element_that_is_none_of_the_type_declines_the_checkpoint() -> None:
    source = Steered()
    harness = started(source, Types.LONG())
    source.do(collect("no number"))
    harness.operator.prepare_snapshot(1, 0)
    with pytest.raises(SerializationError, match="no number"):
        harness.operator.snapshot_lists()


def test_the_names_of_its_own_state_are_taken() -> None:
    class Thief(Steered, CheckpointedFunction):
        def initialize_state(self, context: Any) -> None:
            context.get_operator_state_store().get_list_state(ListStateDescriptor("~source-buffer"))

        def snapshot_state(self, context: Any) -> None:
            pass

    with pytest.raises(InvalidProgramError, match="choose another"):
        OperatorHarness(FunctionSourceOperator(Thief()))


def test_list_checkpointed_and_listeners_work_on_sources() -> None:
    class Listening(Steered, ListCheckpointed, CheckpointListener):
        def __init__(self) -> None:
            super().__init__()
            self.heard: list[Any] = []
            self.offset = 0

        def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
            return [self.offset]

        def restore_state(self, state: list[Any]) -> None:
            (self.offset,) = state

        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            self.heard.append(("complete", checkpoint_id))

        def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
            self.heard.append(("aborted", checkpoint_id))

    source = Listening()
    harness = started(source)
    source.offset = 7
    snapshot = harness.snapshot(3)
    harness.complete(3)
    harness.abort(4)
    assert source.heard == [("complete", 3), ("aborted", 4)]
    again = Listening()
    open_source(again, restored=[snapshot])
    assert again.offset == 7


def test_a_notified_function_may_take_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_source, "_ROOM", 1)

    class Locks(Steered, CheckpointListener):
        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            with self.lock:
                self.heard = checkpoint_id

    source = Locks()
    harness = started(source)
    source.do(lambda ctx: setattr(source, "lock", ctx.get_checkpoint_lock()))
    source.do(collect(1))
    harness.complete(5)
    assert source.heard == 5


def test_rich_functions_know_their_context() -> None:
    class Rich(RichSourceFunction):
        def run(self, ctx: Any) -> None:
            ctx.collect(self.get_runtime_context().get_task_name())

        def cancel(self) -> None:
            pass

    with pytest.raises(InvalidProgramError, match="not in __init__"):
        Rich().get_runtime_context()
    harness = open_source(Rich())
    values: list[Any] = []
    wait_until(lambda: values.extend(poll(harness)) or values, "its name comes")
    assert values == ["numbers"]


def test_elements_of_a_thread_that_outlives_run_are_refused() -> None:
    source = Steered()
    harness = started(source)
    contexts: list[Any] = []
    source.do(contexts.append)
    source.end()
    wait_until(harness.operator.finished, "run has returned")  # type: ignore[attr-defined]
    with pytest.raises(SourceClosedError):
        contexts[0].collect(1)
    assert poll(harness) == []
