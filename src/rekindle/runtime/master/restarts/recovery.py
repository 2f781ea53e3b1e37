"""What follows a failure: a restart, an earlier checkpoint in place of a damaged one, or the end of the job."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.restoring import RestorePath, advice
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointCorruptError
from rekindle.runtime.master.restarts.restart_strategies import GiveUp, Restart, RestartDecision, RestartStrategy


@dataclass(frozen=True, slots=True)
class FallBack:
    """Decide to restart at once, from an earlier checkpoint than the damaged one."""

    damaged: CompletedCheckpoint
    instead: CompletedCheckpoint


class Recovery:
    """Decide what follows the failures of one job.

    Args:
        strategy: Decides about failures that have nothing to do with what is restored.
        fallback: Whether an earlier checkpoint may stand in for a damaged one.
        origin: What the job was started from, if from anything.
        claimed: Whether the job deletes that once it has newer checkpoints.
    """

    def __init__(
        self, strategy: RestartStrategy, fallback: bool, origin: RestorePath | None, claimed: bool = False
    ) -> None:
        self._strategy = strategy
        self._fallback = fallback
        self._origin = origin
        self._claimed = claimed
        self._damaged_before: set[int] = set()

    def on_failure(self, now: int) -> RestartDecision:
        """Decide what follows a failure."""
        return self._strategy.on_failure(now)

    def on_damage(self, now: int, completed: tuple[CompletedCheckpoint, ...]) -> Restart | GiveUp | FallBack:
        """Decide what follows when the last of the completed checkpoints, oldest first, could not be read.

        Reading may fail for a moment only: without the fallback the restart strategy decides, but once for each
        checkpoint. Going back is no restart and does not count as one: it ends by itself, with the last checkpoint.
        """
        damaged = completed[-1]
        if not self.earlier(completed):
            return GiveUp("there is no other checkpoint to go back to")
        if self._fallback:
            instead = completed[-2] if len(completed) > 1 else self._before(damaged)
            if instead is None:
                return GiveUp("there is no other checkpoint that can be read")
            return FallBack(damaged, instead)
        if damaged.checkpoint_id in self._damaged_before:
            return GiveUp("reading the same checkpoint has failed twice")
        self._damaged_before.add(damaged.checkpoint_id)
        return self._strategy.on_failure(now)

    def explain(
        self, damage: CheckpointCorruptError, completed: tuple[CompletedCheckpoint, ...]
    ) -> CheckpointCorruptError:
        """Add to an error what can be done about it."""
        earlier = self.earlier(completed)
        if self._fallback or not earlier:
            return damage
        explained = CheckpointCorruptError(f"{damage}. {advice(earlier)}")
        explained.__cause__ = damage
        return explained

    def earlier(self, completed: tuple[CompletedCheckpoint, ...]) -> list[str]:
        """Name the checkpoints before the last completed one, newest first."""
        names = [f"checkpoint {checkpoint.checkpoint_id}" for checkpoint in reversed(completed[:-1])]
        if self._origin is not None:
            if completed[-1].location is not self._origin.current and not self._claimed:
                names.append(self._origin.current.describe())
            names += self._origin.earlier()
        return names

    def _before(self, damaged: CompletedCheckpoint) -> CompletedCheckpoint | None:
        """Return the checkpoint that the job was started from, if it is there, or one before that."""
        if self._origin is None:
            return None
        if damaged.location is not self._origin.current and not self._claimed:
            return as_restored(self._origin.current)
        stored = self._origin.go_back()
        return None if stored is None else as_restored(stored)


def as_restored(stored: StoredCheckpoint, claimed: bool = False) -> CompletedCheckpoint:
    """Describe a checkpoint that a job is started from: it is not the job's own, to share with or to delete.

    Unless it is ``claimed``: then it takes the place of one that the job has completed, and is deleted as such.
    """
    return CompletedCheckpoint(stored, savepoint=not claimed, claimed=claimed)
