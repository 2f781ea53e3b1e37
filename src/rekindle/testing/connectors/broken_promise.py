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
    LOST_BETWEEN_JOBS = "a second job on the same system loses records, its own or those of the first"
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


_ADVICE = {
    Promise.NOT_PICKLABLE: "Connect in open(), in create_writer() or in run(), not in __init__.",
    Promise.TOO_EARLY: "Write aside, and make it visible in commit.",
    Promise.NOT_IDEMPOTENT: "Give each commit a name, and remember it in the same transaction as the records; or let "
    "the records overwrite themselves. What is committed already is no error.",
    Promise.LEFTOVERS: "Give what is written aside a name that no other attempt uses, and remove what is left over.",
    Promise.LOST_IN_CRASH: "What prepare_commit or pre_commit leaves must outlive the process: in the committable, or "
    "in the other system. Whoever restores must commit all of it.",
    Promise.LOST_AFTER_ABORT: "Keep what an aborted checkpoint held: the next one that completes commits it.",
    Promise.LOST_IN_RESCALE: "A subtask may be given the state of several others: take all items, not the last.",
    Promise.LOST_FOR_SAVEPOINT: "Let keep() protect what a savepoint refers to.",
    Promise.LOST_BETWEEN_JOBS: "Checkpoint ids and subtasks are the same in every job: let names have the lineage in "
    "them, or the committer's job_id, or something random.",
    Promise.ABORTS_TOO_MUCH: "Remove only what this lineage left behind, of subtasks whose number modulo the "
    "parallelism is the writer's own, and nothing that keep() was told of.",
    Promise.NOT_SELF_CONTAINED: "Put into the committable all that another process needs to commit it.",
    Promise.NO_POSITION: "Keep the position as state: implement CheckpointedFunction or ListCheckpointed.",
    Promise.LOSES: "Emit, and advance the position, within one `with ctx.get_checkpoint_lock():`.",
    Promise.REPEATS: "Emit, and advance the position, within one `with ctx.get_checkpoint_lock():`.",
    Promise.LOSES_IN_RESCALE: "A subtask may be given the state of several others: take all items, whichever they are.",
    Promise.REPEATS_IN_RESCALE: "An empty list after a restore is nothing to do, not a first start: ask "
    "context.is_restored().",
    Promise.NOT_CANCELLED: "Let the loop of run() look at a flag that cancel() sets.",
}


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
            *([f"What to do: {_ADVICE[promise]}"] if promise in _ADVICE else []),
            "",
            f"To repeat only this run, add schedule={schedule!r}, seed={seed}",
        ]
        super().__init__("\n".join(lines))
