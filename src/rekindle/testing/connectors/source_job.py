"""The job around a source in a check: operators, snapshots, crashes. All but the source is Rekindle's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pickle import loads
from typing import Any

from rekindle.contracts.functions import SourceFunction
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.function_source import FunctionSourceOperator
from rekindle.runtime.operators.roles import RecordKeeper
from rekindle.runtime.operators.slot_source import SlotSource
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.testing.connectors.stepper import Stepper
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness
from rekindle.types.type_information import TypeInformation

_STEP_SECONDS = 0.1  # a source that waits for something is left alone after so long
_PAUSE_SECONDS = 0.0005


class SourceRaisedError(Exception):
    """The source raised."""


class CancelIgnoredError(Exception):
    """The source did not end after it was cancelled."""


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """Hold what a checkpoint of the job holds.

    Attributes:
        snapshots: Those of all subtasks.
        emitted: How many records had left the source by then.
    """

    snapshots: list[HarnessSnapshot]
    emitted: int


class _Subtask:
    def __init__(self, harness: OperatorHarness) -> None:
        operator = harness.operator
        assert isinstance(operator, SourceOperator)
        self.harness = harness
        self.operator = operator
        self.stepper: Stepper | None = None
        if isinstance(operator, FunctionSourceOperator):
            lock = operator.checkpoint_lock
            self.stepper = Stepper(lambda: lock.held)

    def poll(self, most: int) -> Chunk | None:
        operator = self.operator
        if isinstance(operator, FunctionSourceOperator) and operator.thread is None and self.stepper is not None:
            return self.stepper.starting(lambda: operator.poll(most))  # type: ignore[no-any-return]
        return operator.poll(most)

    def advance(self, lines: int) -> None:
        operator = self.operator
        if isinstance(operator, FunctionSourceOperator) and operator.thread is not None and self.stepper is not None:
            self.stepper.advance(lines, operator.thread, _STEP_SECONDS)

    def close(self) -> None:
        if self.stepper is not None:
            self.stepper.release()
        self.harness.close()


class SourceJob:
    """Run a source, line by line if it is a function.

    Attributes:
        emitted: The records that have left the source, with the subtask that emitted them; after a crash, without
            those that the restored checkpoint does not know of.
        events: What happened, for people.
    """

    def __init__(self, pickled: bytes, type_info: TypeInformation | None) -> None:
        """Describe the job.

        Args:
            pickled: The source.
            type_info: The type of the records.
        """
        self.emitted: list[tuple[int, Any]] = []
        self.events: list[str] = []
        self._pickled = pickled
        self._type_info = type_info
        self._subtasks: list[_Subtask] = []
        self._checkpoints = 0
        self._attempt = 0

    def start(self, parallelism: int, snapshot: SourceSnapshot | None = None) -> None:
        """Start an attempt: its first epoch, which begins to run the functions, is over."""
        origin = "nothing" if snapshot is None else "the last snapshot"
        self.events.append(f"the job starts with {parallelism} subtasks, from {origin}")
        if snapshot is not None:
            del self.emitted[snapshot.emitted :]
        for subtask in range(parallelism):
            harness = self._call(partial(self._open, subtask, parallelism, snapshot))
            self._subtasks.append(_Subtask(harness))
        self._attempt += 1
        if snapshot is None:
            self._begin()
        else:
            self.epoch(1_000)

    def advance(self, lines: list[int]) -> None:
        """Let the functions run so many lines each, outside of the lock."""
        for subtask, count in zip(self._subtasks, lines, strict=False):
            subtask.advance(count)
        places = [s.stepper.place for s in self._subtasks if s.stepper is not None]
        for subtask_index, where in enumerate(places):
            self.events.append(f"subtask {subtask_index} runs until it stands {where}")

    def epoch(self, most: int) -> int:
        """Take records that the source has; return how many."""
        before = len(self.emitted)
        for index, subtask in enumerate(self._subtasks):
            operator = subtask.operator
            if isinstance(operator, RecordKeeper):
                for chunk in operator.waiting():
                    self._emit(index, chunk)
            polled = self._call(partial(subtask.poll, most))
            if polled is not None:
                self._emit(index, polled)
        for subtask in self._subtasks:
            subtask.operator.advance_processing_time(0)
        return len(self.emitted) - before

    def take(self, most: int) -> None:
        """Take at most so many records from each subtask, and tell of it."""
        count = 0
        for index, subtask in enumerate(self._subtasks):
            chunk = self._call(partial(subtask.poll, most))
            if chunk is not None:
                self._emit(index, chunk)
                count += len(chunk.values)
            subtask.operator.advance_processing_time(0)
        if count:
            self.events.append(f"{count} records leave the source: {[r for _, r in self.emitted[-count:]]!r}")

    def snapshot(self) -> SourceSnapshot:
        """Take a checkpoint, which is complete."""
        self._checkpoints += 1
        number = self._checkpoints
        self.events.append(f"checkpoint {number} is taken")
        snapshots = [self._call(partial(s.harness.snapshot, number)) for s in self._subtasks]
        for subtask in self._subtasks:
            self._call(partial(subtask.harness.complete, number))
        return SourceSnapshot(snapshots, len(self.emitted))

    def crash(self) -> None:
        """End the attempt."""
        self.events.append("the processes crash")
        self.end()

    def run_to_end(self, enough: Callable[[list[tuple[int, Any]]], bool], timeout: float) -> None:
        """Run the source until it ends, enough has come from one that does not, or it takes too long."""
        self.events.append("the source runs on")
        for subtask in self._subtasks:
            if subtask.stepper is not None:
                subtask.stepper.release()
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            came = self.epoch(1_000)
            if all(subtask.operator.finished() for subtask in self._subtasks) or enough(self.emitted):
                return
            if not came:
                time.sleep(_PAUSE_SECONDS)
        self.events.append(f"the source has not ended after {timeout:g} seconds")

    def cancel(self, timeout: float) -> None:
        """Cancel the functions, and wait until they have ended.

        Raises:
            CancelIgnoredError: One does not end.
        """
        self.events.append("the functions are cancelled, and go on to run")
        for subtask in self._subtasks:
            self._call(subtask.operator.drain)
            if subtask.stepper is not None:
                subtask.stepper.release()
        deadline = time.monotonic() + timeout
        threads = [s.operator.thread for s in self._subtasks if isinstance(s.operator, FunctionSourceOperator)]
        while any(thread is not None and thread.is_alive() for thread in threads):
            if time.monotonic() > deadline:
                raise CancelIgnoredError
            self.epoch(1_000)
            time.sleep(_PAUSE_SECONDS)

    def lines(self) -> list[int]:
        """Return how many lines each function has run outside of the lock."""
        return [s.stepper.lines for s in self._subtasks if s.stepper is not None]

    def end(self) -> None:
        """Close what is still open."""
        subtasks, self._subtasks = self._subtasks, []
        for subtask in subtasks:
            with suppress(Exception):
                subtask.close()

    def _begin(self) -> None:
        """Begin to run the functions, and take nothing from them yet."""
        for subtask in self._subtasks:
            if isinstance(subtask.operator, FunctionSourceOperator):
                self._call(partial(subtask.poll, 0))
                subtask.operator.advance_processing_time(0)

    def _open(self, subtask: int, parallelism: int, snapshot: SourceSnapshot | None) -> OperatorHarness:
        source = loads(self._pickled)
        operator: SourceOperator
        if isinstance(source, SourceFunction):
            operator = FunctionSourceOperator(source, self._type_info)
        else:
            assert isinstance(source, SlotSource)
            operator = source.create_operator()
        return OperatorHarness(
            operator,
            name="source",
            subtask=subtask,
            parallelism=parallelism,
            attempt=self._attempt,
            restored=None if snapshot is None else snapshot.snapshots,
        )

    def _emit(self, subtask: int, chunk: Chunk) -> None:
        self.emitted += [(subtask, value) for value in chunk.values]

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            raise SourceRaisedError from error
