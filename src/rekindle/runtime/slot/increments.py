"""On what the next incremental snapshot of a slot can build, and when it is time to write everything again."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.checkpoint.metadata import StoredFile

LONGEST_CHAIN = 32
"""How many snapshot files a restore reads at most, one after the other."""


@dataclass(frozen=True, slots=True)
class StoredIncrement:
    """Hold what a snapshot left in the storage.

    Attributes:
        chain: The snapshot files that make up the state on the heap, oldest first: a whole one, then changes.
        native: The files of backends, by operator and name.
        sizes: How many bytes of ``chain`` are of each operator.
    """

    chain: tuple[StoredFile, ...] = ()
    native: dict[str, dict[str, StoredFile]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def worth_extending(self) -> bool:
        """Return whether another change is better than a whole file.

        Not once the changes have one and a half times the size of the whole: writing everything again then costs less
        than the changes did, and a restore reads little more than two and a half times the whole.
        """
        if not self.chain or len(self.chain) >= LONGEST_CHAIN:
            return False
        whole, *changes = self.chain
        return sum(change.size for change in changes) < 1.5 * whole.size


class Increments:
    """Remember the snapshots of one attempt that later ones may build on."""

    def __init__(self) -> None:
        self._stored: dict[int, StoredIncrement] = {}

    def add(self, checkpoint_id: int, stored: StoredIncrement) -> None:
        """Remember what a snapshot left in the storage; it may turn out to be part of a completed checkpoint."""
        self._stored[checkpoint_id] = stored

    def base(self, checkpoint_id: int | None) -> StoredIncrement | None:
        """Return what a completed checkpoint left; None where this attempt has not written it."""
        return None if checkpoint_id is None else self._stored.get(checkpoint_id)

    def completed(self, checkpoint_id: int) -> None:
        """Forget what is older than a completed checkpoint: nothing builds on that any more."""
        self._stored = {number: stored for number, stored in self._stored.items() if number >= checkpoint_id}

    def aborted(self, checkpoint_id: int) -> None:
        """Forget a checkpoint that will never complete."""
        self._stored.pop(checkpoint_id, None)
