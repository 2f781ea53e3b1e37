"""How many records hosted sources may read in an epoch, so that epochs last about as long as wanted. Pure."""

from __future__ import annotations

_FIRST = 10_000
_LEAST = 1_000
_FASTEST_GROWTH = 4


class EpochPacer:
    """Learn from the epochs so far how much the next one can take."""

    def __init__(self, target_ms: int, most: int) -> None:
        self._target = target_ms / 1000
        self._most = most
        self.budget = min(_FIRST, most)

    def epoch_finished(self, records: int, seconds: float) -> None:
        """Take in how long an epoch took; one that did not use its budget up says nothing about more."""
        if records < self.budget:
            return
        wanted = int(self.budget * self._target / max(seconds, 1e-3))
        self.budget = min(max(_LEAST, min(wanted, self.budget * _FASTEST_GROWTH)), self._most)
