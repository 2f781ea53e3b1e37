"""Calls a function again with the record that a crash record holds, in this process and without Spark."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from rekindle.checkpoint.crash_records import CrashContents, CrashKind, CrashSummary
from rekindle.contracts.key_groups import key_group_range
from rekindle.exceptions import CrashRecordError
from rekindle.metrics.slot_metrics import MetricRegistry
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.building import OperatorBuilder
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.operators.operator import MIN_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import JobInfo, OperatorContext, SlotServices, TaskInfo
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.runtime.operators.roles import BackgroundWork, ProcessingTimeOperator, TwoInputOperator
from rekindle.runtime.slot.crash_program import Call, CrashProgram, opened_call, opened_program
from rekindle.runtime.slot.failed_record import without_addresses
from rekindle.runtime.slot.failure import raised_in
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.snapshot_aliases import adopt_aliases
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.backends import create_backend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.state_owner import StateOwner


class Outcome(StrEnum):
    """Say how calling the function again compares with the crash."""

    SAME = "same exception"
    OTHER = "another exception"
    NONE = "no exception"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Tell what calling the function again led to.

    Attributes:
        outcome: How it compares.
        error: What was raised; None: nothing.
        differences: What is not the same: class, text, line.
    """

    outcome: Outcome
    error: BaseException | None
    differences: tuple[str, ...] = ()


def reproduce(summary: CrashSummary, contents: CrashContents) -> Reproduction:
    """Call the function again with the record, key, state and times of a crash record. Runs the code it holds.

    Raises:
        CrashRecordError: It does not hold all that is needed, or that cannot be loaded here.
    """
    if not contents.program or not contents.call:
        raise CrashRecordError(f"it cannot be called again: left out of the record were {'; '.join(summary.left_out)}")
    sys.path += [entry for entry in summary.sys_path if entry not in sys.path]
    program = opened_program(contents)
    adopt_aliases(program.snapshot_aliases)
    try:
        call = opened_call(contents)
    except Exception as error:
        raise CrashRecordError(f"the record cannot be loaded: {type(error).__name__}: {error}") from error
    assert call is not None
    if summary.kind is CrashKind.KEY:
        return _compared(summary, _raised(lambda: program.key_selector(call.value)))
    with _Replay(summary, contents, program, call) as replay:
        return _compared(summary, _raised(replay.run))


def _raised(action: Callable[[], object]) -> BaseException | None:
    try:
        action()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() among them, as in a slot
        return error
    return None


def _compared(summary: CrashSummary, error: BaseException | None) -> Reproduction:
    if error is None:
        return Reproduction(Outcome.NONE, None)
    kind, message, lines = raised_in(error)
    pairs = (
        ("class", summary.exception, kind),
        ("text", without_addresses(summary.message), without_addresses(message)),
        ("line", "".join(summary.lines[-1:]), "".join(lines[-1:])),
    )
    differences = tuple(f"{what}: {was} in the job, {now} here" for what, was, now in pairs if was != now)
    return Reproduction(Outcome.OTHER if differences else Outcome.SAME, error, differences)


class _FixedClock:
    """Stand still at the time of the crash."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now


class _Replay:
    """Open the operator with the state of the key, and close it afterwards."""

    def __init__(self, summary: CrashSummary, contents: CrashContents, program: CrashProgram, call: Call) -> None:
        self._summary = summary
        self._contents = contents
        self._program = program
        self._call = call
        self._directory = tempfile.mkdtemp(prefix="rekindle-reproduce-")
        self._clock = _FixedClock(summary.processing_time)
        self._operator: Operator = OperatorBuilder().build(program.transformation)

    def __enter__(self) -> _Replay:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(BaseException):  # what counts is the error before
            self._operator.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def run(self) -> None:
        """Do what the operator did when it failed."""
        summary, operator = self._summary, self._operator
        operator.open(self._context())
        fires = summary.kind is CrashKind.TIMER
        if fires and summary.event_time:
            self._restore_timers()
            operator.advance_watermark(summary.watermark)
            return
        if summary.watermark != MIN_WATERMARK:
            operator.advance_watermark(summary.watermark)  # before there are timers that it would fire
        self._restore_timers()
        if fires:
            assert isinstance(operator, ProcessingTimeOperator)
            operator.advance_processing_time(summary.processing_time)
            return
        call = self._call
        stamps: list[int | None] | None = None if summary.timestamp is None else [summary.timestamp]
        chunk = Chunk([call.value], stamps, [call.key] if call.has_key else None)
        if summary.side:
            assert isinstance(operator, TwoInputOperator)
            operator.process_second(chunk)
        else:
            operator.process(chunk)
        if isinstance(operator, BackgroundWork):
            operator.finish()  # waits for what is under way

    def _restore_timers(self) -> None:
        if isinstance(self._operator, KeyedOperator):
            self._operator.restore_timers(self._contents.timers)

    def _context(self) -> OperatorContext:
        summary, program = self._summary, self._program
        metrics = MetricRegistry(self._clock)
        known = summary.restored is not None or bool(self._contents.lists)
        return OperatorContext(
            task=TaskInfo(
                summary.uid,
                summary.operator,
                summary.subtask,
                summary.parallelism,
                summary.max_parallelism,
                summary.attempt,
            ),
            job_parameters=program.job_parameters,
            metrics=metrics.group(summary.uid, summary.operator, summary.subtask),
            job=JobInfo(summary.job_id, program.checkpointing, False, program.watermark_interval_ms),
            slot=SlotServices(self._clock, EventLoopThread(), lambda: None, lambda purpose: self._directory),
            keyed_backend=self._backend,
            to_driver=lambda channel, data: None,
            restored=RestoredOperatorState(summary.restored, known, lists=self._contents.lists),
        )

    def _backend(self, *, on_heap: bool = False) -> KeyedStateBackend:
        summary = self._summary
        key_type = self._program.transformation.key_type
        owner = StateOwner(
            summary.operator, summary.uid, PickleSerializer() if key_type is None else serializer_of(key_type)
        )
        groups = key_group_range(summary.subtask, summary.parallelism, summary.max_parallelism)
        backend = create_backend(
            BackendSettings(), owner, groups, summary.max_parallelism, self._clock.now, lambda purpose: self._directory
        )
        backend.restore_blocks(self._contents.blocks)
        return backend
