"""What a connector promises, and the error that tells how one broke it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

__all__ = ["BrokenPromiseError", "Promise"]


class Promise(StrEnum):
    """What a connector did though it must not: in words that end the sentence "it breaks a promise: …"."""

    NOT_PICKLABLE = "it cannot be sent to the slots"
    WRONG_OUTPUT = "something is visible that was never written"
    TOO_EARLY = "records are visible before the checkpoint that holds them is complete"
    NOT_COMMITTED = "commit does not make visible what was prepared"
    NOT_IDEMPOTENT = "commit is not idempotent"
    LEFTOVERS = "leftovers of a lost attempt became visible"
    TWICE = "records are written twice"
    LOST_IN_CRASH = "prepared data is lost in a crash"
    LOST_AFTER_ABORT = "data of an aborted checkpoint is lost"
    LOST_IN_RESCALE = "data is lost when the parallelism changes"
    LOST_FOR_SAVEPOINT = "what a savepoint refers to is lost"
    ABORTS_TOO_MUCH = "abort_leftovers removes what a checkpoint still needs"
    DISAPPEARED = "visible records disappeared"
    NOT_SELF_CONTAINED = "committables are not self-contained: a new writer cannot commit them"
    OUT_OF_ORDER = "records of one subtask are out of order"
    RAISED = "it raised where it must not"

    WRONG_RECORDS = "it does not emit the expected records"
    NO_POSITION = "its position is not part of the checkpoint"
    LOSES = "records are lost after a restore: the state says they were emitted before they were"
    REPEATS = "records are emitted again after a restore: they were emitted before the state says so"
    LOSES_IN_RESCALE = "records are lost when the parallelism changes: restored state is forgotten"
    REPEATS_IN_RESCALE = "records are emitted again when the parallelism changes"
    SPLIT_OUT_OF_ORDER = "records of one split are out of order"
    NOT_CANCELLED = "run does not return after cancel"


class BrokenPromiseError(AssertionError):
    """A connector does not do what it has to do, and this is how it was found out.

    Attributes:
        promise: What it did.
        schedule: The name of the run in which it did: given to the check as ``schedule``, only that one is repeated.
        events: What happened in that run, in its order.
    """

    def __init__(
        self, connector: str, promise: Promise, schedule: str, seed: int, events: Sequence[str], evidence: Sequence[str]
    ) -> None:
        """Tell the story.

        Args:
            connector: The name of the connector's class.
            promise: What it did.
            schedule: The name of the run in which it did.
            seed: The seed of the check.
            events: What happened in that run, in its order.
            evidence: What was expected, and what was found.
        """
        self.promise = promise
        self.schedule = schedule
        self.events = tuple(events)
        numbered = [f"{number:>4}. {event}" for number, event in enumerate(events, 1)]
        lines = [
            f"{connector} breaks a promise: {promise}",
            "",
            "What happened:",
            *numbered,
            "",
            *evidence,
            "",
            f"To repeat only this run, add schedule={schedule!r}, seed={seed}",
        ]
        super().__init__("\n".join(lines))
