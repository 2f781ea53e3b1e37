"""How much of a state with time-to-live a backend looks through, and how often, to remove what has expired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TtlCleanup:
    """Say how a state is swept.

    Attributes:
        per_access: How many entries to visit at every access of the state.
        per_record: How many entries to visit for every record the operator processes.
        clock_every: After how many entries to look at the clock again.
        threshold: Tells up to which time of last access entries have expired by now.
    """

    per_access: int
    per_record: int
    clock_every: int
    threshold: Callable[[], int]
