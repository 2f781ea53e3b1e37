"""How many records hosted sources may read in an epoch, so that epochs last about as long as wanted. Pure."""

from __future__ import annotations

_FIRST = 10_000
_LEAST = 1_000
_FEW = 2 * _LEAST
_FASTEST_GROWTH = 4


class EpochPacer:
    """Learn from the epochs so far how much the next one can take.

    The cluster's planning and scheduling takes its time whatever there is to do. Where that is long beside the time
    wanted, epochs of few records would be no shorter, only more: an epoch may then last twice as long as that.
    """

    def __init__(self, target_ms: int, most: int) -> None:
        self._target = target_ms / 1000
        self._most = most
        self._clusters_own: float | None = None  # the time that an epoch takes without any work
        self.budget = min(_FIRST, most)

    def epoch_finished(self, records: int, seconds: float, busy: float) -> None:
        """Take in how long an epoch took; one that did not use its budget up says nothing about more.

        Args:
            records: How many were read.
            seconds: How long the epoch took.
            busy: How long, of that, the busiest slot had work.
        """
        if records <= _FEW:  # the more there are, the more of the cluster's time is theirs
            idle = max(seconds - busy, 0.0)
            self._clusters_own = idle if self._clusters_own is None else min(self._clusters_own, idle)
        if records < self.budget:
            return
        target = max(self._target, 2 * (self._clusters_own or 0.0))
        wanted = int(self.budget * target / max(seconds, 1e-3))
        self.budget = min(max(_LEAST, min(wanted, self.budget * _FASTEST_GROWTH)), self._most)
