"""The job around a sink in a check: its operators, its checkpoints, its crashes. All but the sink is Rekindle's own."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pickle import loads
from typing import Any

from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.roles import OutputCommitter
from rekindle.runtime.operators.sinks import TwoPhaseSinkOperator
from rekindle.testing.connectors.crash_points import CountedCalls, Crashed
from rekindle.testing.connectors.sink_progress import Progress
from rekindle.testing.connectors.sink_schedules import Act, Step
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness, unkeyed_operator
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    number: int
    position: int
    snapshots: list[HarnessSnapshot]


class SinkRaisedError(Exception):
    """The sink raised, and nobody had crashed it.

    Attributes:
        call: What it was asked to do.
        recovering: Whether that was to start from a checkpoint.
        again: Whether an attempt before had started from the same checkpoint, and committed what it holds.
    """

    def __init__(self, call: str, recovering: bool, again: bool) -> None:
        super().__init__(call)
        self.call = call
        self.recovering = recovering
        self.again = again


class _KeepingLeftovers(Sink):
    """The same sink, whose writers remove nothing: shows whether removing is what is wrong with it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        writer = self._sink.create_writer(context)
        writer.abort_leftovers = lambda: None  # type: ignore[method-assign]
        return writer


class SinkJob:
    """Run a sink through a schedule.

    Attributes:
        progress: How far the job has come.
        events: What happened, for people.
    """

    def __init__(
        self,
        pickled: bytes,
        record: Callable[[int], Any],
        name: str,
        parallelism: int,
        calls: CountedCalls,
        *,
        zombies: bool = True,
        keeps_leftovers: bool = False,
        type_info: TypeInformation | None = None,
    ) -> None:
        """Describe the job.

        Args:
            pickled: The sink.
            record: Makes records from their numbers.
            name: The job's id.
            parallelism: The number of subtasks.
            calls: Calls the sink, and may crash it.
            zombies: Whether crashed attempts stay in memory: they are hung, not dead.
            keeps_leftovers: Whether ``abort_leftovers`` is left out.
            type_info: The type of the records.
        """
        self.progress = Progress(parallelism)
        self.events: list[str] = []
        self._pickled = pickled
        self._record = record
        self._job_id = name
        self._parallelism = parallelism
        self._calls = calls
        self._zombies = zombies
        self._keeps_leftovers = keeps_leftovers
        self._type_info = type_info
        self._harnesses: list[OperatorHarness] = []
        self._hung: list[OperatorHarness] = []
        self._last_id = 0
        self._origin = 0  # the first record of the job
        self._taken: _Checkpoint | None = None
        self._completed: _Checkpoint | None = None
        self._recovered: _Checkpoint | None = None
        self._savepoint: _Checkpoint | None = None

    # --- what a check calls ---

    def start(self) -> None:
        """Start the first attempt."""
        self._restart(self._parallelism)

    def perform(self, step: Step) -> None:
        """Let something happen; where the sink is crashed meanwhile, restart the job."""
        try:
            self._perform(step)
            return
        except Crashed as crash:
            moment = str(crash)
        # Outside of the handler: the traceback is gone, and nothing refers to what the frames of the sink held.
        self._crashed(moment)
        self._restart(self.progress.subtasks)

    def end(self) -> None:
        """Close what is still open."""
        for harness in [*self._harnesses, *self._hung]:
            with suppress(Exception):
                harness.close()
            _forget(harness)
        self._harnesses, self._hung = [], []

    # --- steps ---

    def _perform(self, step: Step) -> None:
        match step.act:
            case Act.WRITE:
                self._write(step.number)
            case Act.BARRIER:
                self._barrier()
            case Act.STORE | Act.NOTIFY:
                self._complete(step.act is Act.NOTIFY)
            case Act.ABORT:
                self._abort()
            case Act.SAVEPOINT:
                self._take_savepoint()
            case Act.CRASH | Act.CRASH_TO_ONE | Act.ZOMBIE:
                self._crash(step)
            case Act.FROM_SAVEPOINT:
                self._start_from_savepoint()
            case Act.ANOTHER_JOB:
                self._start_another()
            case Act.FINISH | Act.FINISH_WITHOUT_CHECKPOINT:
                self._finish(step.act is Act.FINISH)

    def _write(self, count: int) -> None:
        start, subtasks = self.progress.written, self.progress.subtasks
        self._note(f"{count} records are written: {self._record(start)!r} to {self._record(start + count - 1)!r}")
        for subtask, harness in enumerate(self._harnesses):
            own = [self._record(n) for n in range(start, start + count) if n % subtasks == subtask]
            if own:
                self._call(f"subtask {subtask} writes {own!r}", partial(harness.process, *own))
        self.progress.written += count

    def _barrier(self) -> None:
        self._last_id += 1
        self._note(f"the barrier of checkpoint {self._last_id}")
        self._taken = self._snapshot()

    def _snapshot(self) -> _Checkpoint:
        number = self._last_id
        snapshots = [
            self._call(f"subtask {subtask} prepares checkpoint {number}", partial(harness.snapshot, number))
            for subtask, harness in enumerate(self._harnesses)
        ]
        return _Checkpoint(number, self.progress.written, snapshots)

    def _complete(self, notify: bool) -> None:
        checkpoint, self._taken = self._taken, None
        if checkpoint is None:
            return  # a crash came between
        self._note(f"checkpoint {checkpoint.number} is complete{'' if notify else ', and nobody hears of it'}")
        self._completed = checkpoint
        self.progress.allowed = checkpoint.position
        if notify:
            self._notify(checkpoint)

    def _notify(self, checkpoint: _Checkpoint) -> None:
        number = checkpoint.number
        for subtask, harness in enumerate(self._harnesses):
            self._call(
                f"subtask {subtask} hears that checkpoint {number} is complete",
                partial(harness.complete, number),
            )
        self.progress.required = checkpoint.position

    def _abort(self) -> None:
        checkpoint, self._taken = self._taken, None
        if checkpoint is None:
            return
        self._note(f"checkpoint {checkpoint.number} is aborted, and the job continues")
        self.progress.aborted = True
        for subtask, harness in enumerate(self._harnesses):
            self._call(
                f"subtask {subtask} hears that checkpoint {checkpoint.number} is aborted",
                partial(harness.abort, checkpoint.number),
            )

    def _take_savepoint(self) -> None:
        self._last_id += 1
        self._note(f"savepoint {self._last_id} is taken, and the job continues")
        savepoint = self._snapshot()
        for subtask, harness in enumerate(self._harnesses):
            operator = harness.operator
            if isinstance(operator, OutputCommitter):
                self._call(
                    f"subtask {subtask} hears that savepoint {savepoint.number} is complete",
                    partial(operator.savepoint_completed, savepoint.number),
                )
        self._savepoint = savepoint

    def _crash(self, step: Step) -> None:
        self._note("the processes crash")
        old, self._harnesses = self._harnesses, []
        if self._zombies:
            self._hung += old
        else:
            for harness in old:
                _forget(harness)
            gc.collect()  # a connection of sqlite3 refers to itself, and holds locks until it is gone
        more = step.number if step.act is Act.CRASH else 0
        self._restart(1 if step.act is Act.CRASH_TO_ONE else self.progress.subtasks + more)
        if step.act is Act.ZOMBIE:
            self._haunt(old)

    def _haunt(self, zombies: list[OperatorHarness]) -> None:
        """Let processes go on that do not know that others have replaced them."""
        self._note("the old processes are still there: they commit, write, and prepare another checkpoint")
        progress, completed = self.progress, self._completed
        count = len(zombies)
        for subtask, harness in enumerate(zombies):
            own = [self._record(n) for n in range(progress.written, progress.written + count) if n % count == subtask]
            with suppress(Exception):
                if completed is not None:
                    harness.complete(completed.number)
                harness.process(*own)
                harness.snapshot(self._last_id + 1)
        progress.lost = max(progress.lost, progress.written + count)

    def _start_from_savepoint(self) -> None:
        savepoint = self._savepoint
        if savepoint is None:
            return
        self._note(f"the job is cancelled, and another one starts from savepoint {savepoint.number}")
        for harness in self._harnesses:
            self._call("a subtask is closed", harness.close)
        self._harnesses = []
        self._job_id += "-again"
        self._completed = savepoint
        self.progress = replace(self.progress, allowed=savepoint.position, from_savepoint=True)
        self._restart(self.progress.subtasks)

    def _start_another(self) -> None:
        self._note("another job begins anew, and writes to the same system")
        self._job_id += "-other"
        self._completed = self._savepoint = None
        self._last_id, self._origin = 0, self.progress.written
        written = self._origin
        self.progress = Progress(
            self._parallelism, required=written, allowed=written, written=written, attempt=-1, another_job=True
        )
        self._restart(self._parallelism)

    def _finish(self, with_checkpoint: bool) -> None:
        self._note("the input ends")
        for subtask, harness in enumerate(self._harnesses):
            self._call(f"subtask {subtask} finishes", harness.finish)
        if with_checkpoint:
            self._barrier()
            self._complete(notify=True)
        else:
            self.progress.allowed = self.progress.written
            for subtask, harness in enumerate(self._harnesses):
                operator = harness.operator
                assert isinstance(operator, OutputCommitter)
                self._call(f"subtask {subtask} commits all of it", partial(operator.commit_final, 0))
            self.progress.required = self.progress.written
        for subtask, harness in enumerate(self._harnesses):
            self._call(f"subtask {subtask} is closed", harness.close)
        self._harnesses = []
        self.progress.ended = True

    # --- attempts ---

    def _restart(self, parallelism: int) -> None:
        """Start an attempt from the last complete checkpoint; again, if it is crashed on its way."""
        progress, checkpoint = self.progress, self._completed
        first = not self.events
        position = self._origin if checkpoint is None else checkpoint.position
        progress.lost = max(progress.lost, progress.written)
        progress.rescaled = progress.rescaled or parallelism != progress.subtasks
        progress.attempt += not first
        progress.subtasks, progress.written, progress.restored = parallelism, position, position
        self._taken = None
        origin = "nothing" if checkpoint is None else f"checkpoint {checkpoint.number}"
        self._note(f"the job starts with {parallelism} subtasks, from {origin}")
        try:
            for subtask in range(parallelism):
                self._harnesses.append(
                    self._call(
                        f"subtask {subtask} starts from {origin}",
                        partial(self._open, subtask, parallelism, checkpoint),
                        recovering=checkpoint is not None,
                        again=checkpoint is self._recovered,
                    )
                )
            progress.required = max(progress.required, position)
            self._recovered = checkpoint
            return
        except Crashed as crash:
            moment = str(crash)
        self._crashed(moment)
        self._restart(parallelism)

    def _open(self, subtask: int, parallelism: int, checkpoint: _Checkpoint | None) -> OperatorHarness:
        return OperatorHarness(
            self._operator(),
            name="sink",
            subtask=subtask,
            parallelism=parallelism,
            attempt=self.progress.attempt,
            job_id=self._job_id,
            restored=None if checkpoint is None else checkpoint.snapshots,
        )

    def _operator(self) -> Operator:
        sink = loads(self._pickled)
        if isinstance(sink, Sink):
            return TwoPhaseSinkOperator(_KeepingLeftovers(sink) if self._keeps_leftovers else sink, self._type_info)
        return unkeyed_operator(sink)

    def _crashed(self, moment: str) -> None:
        """End an attempt that was crashed."""
        closes = self._calls.closes
        how = "and its functions are closed" if closes else "and its processes vanish"
        self._note(f"CRASH {moment}: the attempt ends, {how}")
        for harness in self._harnesses:
            if closes:
                with suppress(Exception):
                    harness.close()
            _forget(harness)
        self._harnesses = []
        gc.collect()  # a connection of sqlite3 refers to itself, and holds locks until it is gone

    # --- calls ---

    def _call(self, what: str, call: Callable[[], Any], recovering: bool = False, again: bool = False) -> Any:
        try:
            return self._calls.run(what, call)
        except Exception as error:
            raise SinkRaisedError(what, recovering, recovering and again) from error

    def _note(self, event: str) -> None:
        self.events.append(event)


def _forget(harness: OperatorHarness) -> None:
    """Let the memory of an attempt vanish, and with it the connections that are only known there."""
    operator: Any = harness.operator
    writer = getattr(operator, "_writer", None)
    committers = getattr(writer, "_committers", {})
    held = [*committers.values(), writer, getattr(operator, "function", None), getattr(operator, "sink", None)]
    for thing in held:
        if hasattr(thing, "__dict__"):
            vars(thing).clear()
