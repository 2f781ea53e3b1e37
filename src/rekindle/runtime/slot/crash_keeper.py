"""Writes a crash record when a user's function raises in a slot.

The function may have changed its state before it raised, and what it was before is gone then. So when a job comes back
after a failure, its slots copy the state of the key that failed before each of its records: at the same record, the
state is there as it was.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from rekindle.checkpoint import paths
from rekindle.checkpoint.crash_records import (
    CrashContents,
    CrashKind,
    CrashName,
    CrashRecordSettings,
    CrashSummary,
    StateCopies,
    StateTaken,
    crash_names,
    decode_crash,
    operator_digest,
    store_crash,
)
from rekindle.graph.transformations.one_input import CustomTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.roles import SplitFollower
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.slot.crash_capture import KeyCopy, call_of, copy_key, copy_lists, fired_timer, list_size, pickled
from rekindle.runtime.slot.crash_program import CrashProgram, opened_call
from rekindle.runtime.slot.failed_record import UNKNOWN, Work
from rekindle.runtime.slot.failure import OperatorError, raised_in
from rekindle.runtime.slot.operator_graph import RunningNode
from rekindle.runtime.slot.short_text import cut, short_repr
from rekindle.runtime.slot.slot_job import SlotJob
from rekindle.runtime.wire.messages import SlotFailed
from rekindle.state.blocks import EVENT_TIMERS
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.watched_keys import watch_keys

log = logging.getLogger(__name__)

_WRITE_SECONDS = 2.0  # how long the user's own error may be held up
_FREE_SECONDS, _SHARE = 1.0, 0.2  # how long copies may take: in all, and of the time besides
_SHOWN = 1_000


@dataclass(slots=True)
class _Taken:
    """Hold what was taken of an operator when its function raised."""

    error: OperatorError
    summary: CrashSummary
    contents: CrashContents
    keyed_edge: int | None


class CrashKeeper:
    """Keep what a slot needs for a crash record, and write it: one in an attempt, the first.

    Args:
        settings: Where to, and how much.
        job: The job.
        slot: The slot.
        attempt: The attempt.
        program: Loads the job anew, with functions as they were deployed.
        now: Tells the processing time.
    """

    def __init__(
        self,
        settings: CrashRecordSettings,
        job: SlotJob,
        slot: int,
        attempt: int,
        program: Callable[[], SlotJob],
        now: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._job = job
        self._slot = slot
        self._attempt = attempt
        self._program = program
        self._now = now
        self._taken: _Taken | None = None
        self._written = False
        self._copies: dict[int, tuple[Any, KeyCopy]] = {}  # by operator: of the key it turned to last
        self._opened = time.monotonic()
        self._copying = 0.0
        self._restored = None if job.restore is None else job.restore.metadata.checkpoint_id
        self._checkpoint = self._restored
        self._checkpoint_path = None
        if job.restore is not None and job.restore.files is not None:
            self._checkpoint_path = job.restore.files.describe(job.restore.directory)

    def completed(self, checkpoint_id: int) -> None:
        """Learn of a completed checkpoint."""
        self._checkpoint = checkpoint_id
        self._checkpoint_path = self._settings.files.describe(
            paths.checkpoint_directory(self._job.job_id, checkpoint_id)
        )

    # --- before a failure ---

    def watched(self) -> dict[str, set[Any]]:
        """Read from the crash records of earlier attempts which keys to watch, by operators as file names have them."""
        if self._settings.copies is not StateCopies.AFTER_FAILURE or not self._attempt:
            return {}
        found: dict[str, set[Any]] = {}
        try:
            own = {operator_digest(node.uid) for node in self._job.graph.nodes}
            for name in crash_names(self._settings.files, self._job.job_id):
                if name.state is StateTaken.AFTER and name.operator in own:
                    found.setdefault(name.operator, set()).update(self._key_in(name))
        except Exception as error:
            log.warning("the crash records of earlier attempts cannot be read: %s", error)
        return found

    def _key_in(self, name: CrashName) -> list[Any]:
        """Read the key of a crash record, if it has one. One that cannot be read is no reason not to start."""
        try:
            path = paths.join(self._job.job_id, paths.CRASHES, name.name)
            call = opened_call(decode_crash(self._settings.files.read(path), name.name)[1])
            if call is not None and call.has_key:
                hash(call.key)
                return [call.key]
        except BaseException as error:  # whatever user code raises when its objects are unpickled
            log.warning("crash record %s of an earlier attempt cannot be read: %r", name.name, error)
        return []

    def watch(self, running: RunningNode, watched: dict[str, set[Any]]) -> None:
        """Copy the state of keys that failed before, from now on, whenever an operator turns to them."""
        always = self._settings.copies is StateCopies.ALWAYS
        keys = None if always else watched.get(operator_digest(running.node.uid))
        backend = getattr(running.operator, "backend", None)
        if isinstance(backend, KeyedStateBackend) and (always or keys):
            watch_keys(backend, keys, partial(self._copy, running.node.id, running.operator))

    def _copy(self, node: int, operator: Operator, key: Any) -> None:
        self._copies.pop(node, None)
        started = time.monotonic()
        share = _FREE_SECONDS + _SHARE * (started - self._opened)
        if self._copying > share and self._settings.copies is not StateCopies.ALWAYS:
            return
        self._copies[node] = (key, copy_key(operator, key, StateTaken.BEFORE, self._settings.max_bytes))
        self._copying += time.monotonic() - started

    # --- after a failure ---

    def take(self, error: OperatorError, running: RunningNode | None) -> None:
        """Take what goes into a crash record, while nothing else runs in the slot. Never raises."""
        if self._taken is not None or error.record is None or error.__cause__ is None or running is None:
            return
        work = error.record.work
        made_here = isinstance(running.operator, SourceOperator | SplitFollower)
        if made_here or not (work.in_operator or work.keyed_edge is not None):
            return
        try:
            self._taken = self._take(error, error.__cause__, running, work)
        except BaseException as problem:
            log.warning("no crash record is written: %r", problem)

    def _take(self, error: OperatorError, cause: BaseException, running: RunningNode, work: Work) -> _Taken:
        limit, operator, node = self._settings.max_bytes, running.operator, running.node
        left_out: list[str] = []
        call = pickled(call_of(work).parts(), limit, "the record", left_out)
        copy = KeyCopy()
        lists = {}
        if work.keyed_edge is None:
            copy = self._state(running, work, limit - len(call))
            lists = copy_lists(operator, limit - len(call) - copy.size, left_out)
        kind, message, lines = raised_in(cause)
        trace = cause.__traceback__
        side = 0 if trace is None else trace.tb_frame.f_locals.get("side", 0)
        summary = CrashSummary(
            time=self._now(),
            job_id=self._job.job_id,
            operator=node.name,
            uid=node.uid,
            transformation=node.transformation.kind,
            subtask=self._slot,
            parallelism=node.parallelism,
            max_parallelism=node.max_parallelism,
            attempt=self._attempt,
            kind=_kind(work),
            side=side if isinstance(side, int) else 0,
            key=None if work.key is UNKNOWN else short_repr(work.key, _SHOWN),
            record=_shown(work),
            timestamp=work.timestamp if work.due is None else work.due[1],
            event_time=work.due is None or work.queue in (None, EVENT_TIMERS),
            watermark=running.watermark,
            processing_time=self._now(),
            restored=self._restored,
            checkpoint_id=self._checkpoint,
            checkpoint=self._checkpoint_path,
            exception=kind,
            message=message,
            lines=lines,
            identity="",
            state=copy.taken,
            states=tuple(dict.fromkeys(block.state for block in copy.blocks)),
            left_out=(*left_out, *copy.left_out, *_not_taken(node.transformation)),
            python=sys.version.split()[0],
            sys_path=tuple(sys.path),
        )
        contents = CrashContents(call=call, blocks=copy.blocks, timers=copy.timers, lists=lists)
        return _Taken(error, summary, contents, work.keyed_edge)

    def _state(self, running: RunningNode, work: Work, limit: int) -> KeyCopy:
        """Return the state of the key from before the call, if it was copied, or as it is now."""
        if work.key is UNKNOWN:
            return KeyCopy()
        key, copy = self._copies.get(running.node.id, (UNKNOWN, KeyCopy()))
        if key is UNKNOWN or key != work.key or copy.left_out or copy.size > limit:
            copy = copy_key(running.operator, work.key, StateTaken.AFTER, limit)
        copy.timers = [*fired_timer(running.operator, work, copy.left_out), *copy.timers]
        return copy

    def write(self, error: BaseException, failure: SlotFailed) -> str | None:
        """Write the crash record of a failure, if it has one; wait for it, but not long.

        Returns:
            Where it is; None: there is none, or it is not written yet.
        """
        taken = self._taken
        if taken is None or taken.error is not error or self._written:
            return None
        self._written = True
        path: list[str | None] = []
        thread = threading.Thread(
            target=lambda: path.append(self._write(taken, failure)), daemon=True, name="crash record"
        )
        thread.start()
        thread.join(_WRITE_SECONDS)
        return path[0] if path else None

    def _write(self, taken: _Taken, failure: SlotFailed) -> str | None:
        try:
            summary = msgspec.structs.replace(taken.summary, identity=failure.identity, traceback=failure.traceback)
            left_out: list[str] = []
            contents = self._with_program(taken, left_out)
            summary = msgspec.structs.replace(summary, left_out=(*summary.left_out, *left_out))
            return store_crash(self._settings, summary, contents)
        except BaseException as problem:
            log.warning("the crash record of operator %r cannot be written: %s", taken.summary.operator, problem)
            return None

    def _with_program(self, taken: _Taken, left_out: list[str]) -> CrashContents:
        """Add the function, without which a record is of little use: operator state makes room for it."""
        contents, most = taken.contents, self._settings.max_bytes
        used = len(contents.call) + sum(len(block.data) for block in (*contents.blocks, *contents.timers))
        try:
            program = CrashProgram.pickled(self._program(), taken.error.node.id, taken.keyed_edge)
        except Exception as problem:
            left_out.append(cut(f"the function: {type(problem).__name__}: {problem}", 500))
            return contents
        if used + len(program) > most:
            left_out.append("the function: larger than rekindle.crash-records.max-size allows")
            return contents
        lists = contents.lists
        if used + len(program) + list_size(lists) > most:
            left_out.append("the operator state: larger than rekindle.crash-records.max-size allows")
            lists = {}
        return msgspec.structs.replace(contents, program=program, lists=lists)


def _not_taken(transformation: Transformation) -> list[str]:
    own = isinstance(transformation, CustomTransformation)
    return ["the timers and raw state of the operator, which is the program's own"] if own else []


def _kind(work: Work) -> CrashKind:
    if work.keyed_edge is not None:
        return CrashKind.KEY
    return CrashKind.RECORD if work.due is None else CrashKind.TIMER


def _shown(work: Work) -> str:
    if work.due is None:
        return short_repr(work.value, _SHOWN)
    window = work.due[0]
    whose = f" of window {short_repr(window[1], _SHOWN)}" if isinstance(window, tuple) and window != work.key else ""
    return f"the timer at {work.due[1]}{whose}"
