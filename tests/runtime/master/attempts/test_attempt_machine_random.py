"""The state machine of an attempt in a world that fails in all ways, in thousands of seeded random schedules.

That the checks notice anything is checked, too: with machines of which a rule has been taken out.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import pytest

from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine
from support.attempt_world import run_schedule

SCHEDULES = 1_000
BATCHES = 10


@pytest.mark.parametrize("batch", range(BATCHES))
def test_invariants_hold_in_every_schedule(batch: int) -> None:
    for seed in range(batch, SCHEDULES, BATCHES):
        run_schedule(seed)


def test_schedules_reach_every_situation() -> None:
    seen: Counter[str] = Counter()
    for seed in range(500):
        seen += run_schedule(seed)
    rare = {
        situation: seen[situation]
        for situation in [
            *("FINISHED", "CANCELED", "FAILED", "SlotLostError", "RuntimeError", "OSError", "given up"),
            *("ReserveIds", "NoteCheckpoint", "NoteOutput", "DiscardFiles", "DropCompleted", "DrainSources"),
            *("CompleteRequested", "FailRequested", "CommitRows", "CommitLastRows", "table written"),
            *("CompleteSavepoint", "FailSavepoint", "GiveUpStop", "InterruptStop", "ShowStopSavepoint", "SkipEpoch"),
        ]
        if seen[situation] < 3
    }
    assert rare == {}


def test_a_schedule_is_the_same_for_the_same_seed() -> None:
    assert run_schedule(4711) == run_schedule(4711)


# ------------------------------------------------------------------------- the checks themselves, with a rule taken out


class CompletesBeforeTheLogHasIt(AttemptMachine):
    def _stored(self, checkpoint_id, location):  # type: ignore[no-untyped-def]
        self._follow(self.coordinator.metadata_written(self._now, checkpoint_id, location))


class NotesTheNextBeforeTheOutcomeIsKnown(AttemptMachine):
    def _note_next(self):  # type: ignore[no-untyped-def]
        self._noting = None
        super()._note_next()
        self._noting = None


class AbortsWhatIsBeingNoted(AttemptMachine):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        coordinator = self.coordinator
        coordinator.begin_commit = lambda number: number in coordinator.pending_ids()  # type: ignore[method-assign]


class ForgetsWhatWasNotedAfterTheEnd(AttemptMachine):
    def close(self, now, failure):  # type: ignore[no-untyped-def]
        self._late = []
        return super().close(now, failure)


class GoesOnAfterAFailure(AttemptMachine):
    @property
    def _over(self) -> bool:
        return self._outcome is not None


class BeginsEpochsAfterTheLastBarrier(AttemptMachine):
    def _begin_epoch(self) -> None:
        stop, self._stop = self._stop, None
        super()._begin_epoch()
        self._stop = stop


class FinishesWithTheFirstSlot(AttemptMachine):
    def _output_committed(self, slot, checkpoint_id, staged):  # type: ignore[no-untyped-def]
        super()._output_committed(slot, checkpoint_id, staged)
        if checkpoint_id == self._commit_awaited and self._outcome is None:
            self._end(a.Outcome.FINISHED)


class UsesIdsThatAreNotReserved(AttemptMachine):
    def _has_id(self) -> bool:
        return True


class HandsOverSavepointsThatAreNotSafe(AttemptMachine):
    def _completed(self, order):  # type: ignore[no-untyped-def]
        super()._completed(order)
        if self._unsafe.pop(order.checkpoint_id, None) is not None:
            self._complete_savepoint(order.checkpoint_id)


class PlacesBarriersAnywhere(AttemptMachine):
    def _trigger_due(self) -> None:
        running, self._running = self._running, False
        super()._trigger_due()
        self._running = running


class LeavesTheStopToNobody(AttemptMachine):
    def _stop_failed(self, message: str) -> None:
        pass


class PlacesBarriersDuringACommit(AttemptMachine):
    def _has_id(self) -> bool:
        waiting, self._to_commit = self._to_commit, deque()
        allowed = super()._has_id()
        self._to_commit = waiting
        return allowed


class FinishesBeforeRowsAreCommitted(AttemptMachine):
    def _finish_if_committed(self) -> None:
        if len(self._committed) == self._settings.slots:
            self._end(a.Outcome.FINISHED)


class CommitsSeveralCheckpointsAtATime(AttemptMachine):
    def _completed(self, order):  # type: ignore[no-untyped-def]
        waiting, self._to_commit = self._to_commit, deque()
        super()._completed(order)
        self._to_commit = waiting + self._to_commit


class ForgetsTheRowsOfAJobWithoutCheckpoints(AttemptMachine):
    def _output_committed(self, slot, checkpoint_id, staged):  # type: ignore[no-untyped-def]
        super()._output_committed(slot, checkpoint_id, {})


MUTANTS = [
    CompletesBeforeTheLogHasIt,
    NotesTheNextBeforeTheOutcomeIsKnown,
    AbortsWhatIsBeingNoted,
    ForgetsWhatWasNotedAfterTheEnd,
    GoesOnAfterAFailure,
    BeginsEpochsAfterTheLastBarrier,
    FinishesWithTheFirstSlot,
    UsesIdsThatAreNotReserved,
    HandsOverSavepointsThatAreNotSafe,
    PlacesBarriersAnywhere,
    LeavesTheStopToNobody,
    PlacesBarriersDuringACommit,
    FinishesBeforeRowsAreCommitted,
    CommitsSeveralCheckpointsAtATime,
    ForgetsTheRowsOfAJobWithoutCheckpoints,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_machine_without_one_of_its_rules_is_noticed(mutant: type[AttemptMachine]) -> None:
    for seed in range(SCHEDULES):
        try:
            run_schedule(seed, mutant)
        except AssertionError:
            return
    raise AssertionError(f"{mutant.__name__} is as good as the machine itself")
