"""How many checkpoint failures in a row the job bears."""

from __future__ import annotations


class CheckpointFailureCounter:
    """Count failed checkpoints in a row against the tolerable number.

    Args:
        tolerable_failures: Failures in a row that do not fail the job.
    """

    def __init__(self, tolerable_failures: int) -> None:
        self._tolerable_failures = tolerable_failures
        self._in_a_row = 0
        self._exceeded = False

    @property
    def in_a_row(self) -> int:
        """Return the number of failures since the last success."""
        return self._in_a_row

    @property
    def exceeded(self) -> bool:
        """Return whether the tolerable number has ever been exceeded."""
        return self._exceeded

    def count_failure(self) -> bool:
        """Count a failure and return whether it is the one that must fail the job (true once)."""
        self._in_a_row += 1
        if self._exceeded or self._in_a_row <= self._tolerable_failures:
            return False
        self._exceeded = True
        return True

    def count_success(self) -> None:
        """Start counting afresh."""
        self._in_a_row = 0
