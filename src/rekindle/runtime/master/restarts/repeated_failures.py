"""A failure that comes again and again: at the same record, in the same operator, with no checkpoint in between."""

from __future__ import annotations

from rekindle.exceptions import UserCodeError
from rekindle.runtime.master.restarts.restart_strategies import Restart, RestartDecision

LONGEST_DELAY_MS = 60_000
_FIRST_DELAY_MS = 2_000
_FREE = 2  # so often a failure may come with nothing but the restart strategy's own delay


class RepeatedFailures:
    """Count how often a job has failed in the same way since its last checkpoint, and slow its restarts down.

    Only failures of user code are compared: others have no place in the program.
    """

    def __init__(self) -> None:
        self._last: object = None
        self._times = 0

    def note(self, failure: BaseException, checkpoint_id: int | None) -> None:
        """Count a failure, and let it say how often it has come.

        Args:
            failure: The failure.
            checkpoint_id: The last checkpoint that was complete by then.
        """
        if not isinstance(failure, UserCodeError):
            self._last, self._times = None, 0
            return
        this = (failure.identity, checkpoint_id)
        self._times = self._times + 1 if this == self._last else 1
        self._last = this
        if self._times > 1:
            at = " at the same record" if failure.record else ""
            failure.repeated = f"the same failure {self._times} times{at}, with no checkpoint in between"

    def prolonged(self, decision: RestartDecision) -> RestartDecision:
        """Let a restart wait longer each time the failure comes, and never less than the restart strategy says."""
        if self._times <= _FREE or not isinstance(decision, Restart):
            return decision
        doublings = min(self._times - _FREE - 1, 30)
        return Restart(max(decision.delay_ms, min(_FIRST_DELAY_MS << doublings, LONGEST_DELAY_MS)))
