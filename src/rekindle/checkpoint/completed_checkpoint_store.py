"""Which completed checkpoints are retained. Decides only: deleting is done elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint


class CompletedCheckpointStore:
    """Keep the newest completed checkpoints, in the order of their ids.

    A savepoint is in here only as a point to restore from: the one a job was started from, or the one it was
    stopped with. It takes no checkpoint's place, and once a newer checkpoint exists it is forgotten, not
    deleted.

    Args:
        num_retained: Number of checkpoints to keep, savepoints not counted.
        checkpoints: What is there already, oldest first.

    Raises:
        ValueError: If the ids of ``checkpoints`` do not rise.
    """

    def __init__(self, num_retained: int, checkpoints: Iterable[CompletedCheckpoint] = ()) -> None:
        self._num_retained = num_retained
        self._checkpoints = list(checkpoints)
        ids = [checkpoint.checkpoint_id for checkpoint in self._checkpoints]
        if any(left >= right for left, right in pairwise(ids)):
            raise ValueError(f"completed checkpoints must come oldest first, but their ids are {ids}")

    def add(self, checkpoint: CompletedCheckpoint) -> list[CompletedCheckpoint]:
        """Take in a checkpoint and return those that are no longer retained, oldest first.

        Raises:
            ValueError: If a checkpoint (not a savepoint) is not newer than all checkpoints in here.
        """
        if checkpoint.savepoint:
            self._insert(checkpoint)
            return []
        newest = self.latest_checkpoint()
        if newest is not None and checkpoint.checkpoint_id <= newest.checkpoint_id:
            raise ValueError(
                f"checkpoint {checkpoint.checkpoint_id} is not newer than checkpoint {newest.checkpoint_id}"
            )
        self._checkpoints = [
            other
            for other in self._checkpoints
            if not other.savepoint or other.checkpoint_id > checkpoint.checkpoint_id
        ]
        self._insert(checkpoint)
        dropped = [other for other in self._checkpoints if not other.savepoint][: -self._num_retained]
        dropped_ids = {other.checkpoint_id for other in dropped}
        self._checkpoints = [other for other in self._checkpoints if other.checkpoint_id not in dropped_ids]
        return dropped

    def remove(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Take a checkpoint out and return it, None where there is no such one."""
        removed = next((other for other in self._checkpoints if other.checkpoint_id == checkpoint_id), None)
        self._checkpoints = [other for other in self._checkpoints if other is not removed]
        return removed

    def latest(self) -> CompletedCheckpoint | None:
        """Return the newest checkpoint or savepoint to restore from, None when there is none."""
        return self._checkpoints[-1] if self._checkpoints else None

    def latest_checkpoint(self) -> CompletedCheckpoint | None:
        """Return the newest checkpoint that is no savepoint, None when there is none."""
        return next((other for other in reversed(self._checkpoints) if not other.savepoint), None)

    def all(self) -> tuple[CompletedCheckpoint, ...]:
        """Return everything in here, oldest first."""
        return tuple(self._checkpoints)

    def _insert(self, checkpoint: CompletedCheckpoint) -> None:
        self._checkpoints.append(checkpoint)
        self._checkpoints.sort(key=lambda other: other.checkpoint_id)
