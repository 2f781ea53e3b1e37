"""What of a sink's records must be visible, what may be, and which promise is broken where that is not so. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rekindle.testing.connectors.broken_promise import Promise


@dataclass(slots=True)
class Progress:
    """How far a job has come. Records are numbered from 0 on, in the order of the input; all fields count records.

    Attributes:
        required: So many must be visible: those of a checkpoint of which all subtasks have heard.
        allowed: So many may be visible: those of the last complete checkpoint.
        written: So many were written by the attempt that runs, or were in the checkpoint it started from.
        restored: So many were in that checkpoint.
        lost: So many were written by the attempts before it, or by zombies.
        attempt: How often the job has restarted.
        subtasks: How many subtasks write.
        rescaled: Whether their number has changed at the last restart, or before it.
        aborted: Whether a checkpoint was aborted.
        from_savepoint: Whether the job has started from a savepoint that another one took.
        another_job: Whether the job is a second one, which began anew after the first had finished.
        ended: Whether the job has finished.
    """

    subtasks: int
    required: int = 0
    allowed: int = 0
    written: int = 0
    restored: int = 0
    lost: int = 0
    attempt: int = 0
    rescaled: bool = False
    aborted: bool = False
    from_savepoint: bool = False
    another_job: bool = False
    ended: bool = False

    def missing(self) -> Promise:
        """Name the promise of a sink that does not show what it must."""
        if self.another_job:
            return Promise.LOST_BETWEEN_JOBS
        if self.from_savepoint:
            return Promise.LOST_FOR_SAVEPOINT
        if self.rescaled:
            return Promise.LOST_IN_RESCALE
        if self.attempt:
            return Promise.LOST_IN_CRASH
        return Promise.LOST_AFTER_ABORT if self.aborted else Promise.NOT_COMMITTED


@dataclass(frozen=True, slots=True)
class Finding:
    """Say what is wrong with what is visible.

    Attributes:
        promise: What the sink did.
        numbers: The records at which it shows.
    """

    promise: Promise
    numbers: list[int]


def exactly_once(
    progress: Progress, visible: Sequence[int], seen: set[int], ordered: bool, delayed: bool
) -> Finding | None:
    """Compare what is visible with what an exactly-once sink shows.

    Args:
        progress: How far the job has come.
        visible: The numbers of the visible records.
        seen: Those that were visible before.
        ordered: Whether records of one subtask have to be in the order of the input.
        delayed: Whether what was committed need not be visible before the end.
    """
    counts = Counter(visible)
    early = sorted(number for number in counts if number >= progress.allowed)
    if early:
        dead = progress.attempt and all(number >= progress.written for number in early)
        return Finding(Promise.LEFTOVERS if dead else Promise.TOO_EARLY, early)
    twice = sorted(number for number, count in counts.items() if count > 1)
    if twice:
        if not progress.attempt:
            return Finding(Promise.TWICE, twice)
        again = [number for number in twice if number < progress.restored]
        return Finding(Promise.NOT_IDEMPOTENT, again) if again else Finding(Promise.LEFTOVERS, twice)
    missing = [number for number in range(progress.required) if number not in counts]
    gone = [number for number in missing if number in seen]
    if gone:
        return Finding(Promise.LOST_BETWEEN_JOBS if progress.another_job else Promise.DISAPPEARED, gone)
    if missing and (progress.ended or not delayed):
        return Finding(progress.missing(), missing)
    if ordered and not progress.rescaled:
        for subtask in range(progress.subtasks):
            own = [number for number in visible if number % progress.subtasks == subtask]
            if own != sorted(own):
                return Finding(Promise.OUT_OF_ORDER, own)
    return None


def at_least_once(progress: Progress, visible: Sequence[int]) -> Finding | None:
    """Compare what is visible at the end with what an at-least-once sink shows: all of it, however often.

    Args:
        progress: How far the job has come.
        visible: The numbers of the visible records.
    """
    found = set(visible)
    missing = [number for number in range(progress.required) if number not in found] if progress.ended else []
    return Finding(progress.missing(), missing) if missing else None
