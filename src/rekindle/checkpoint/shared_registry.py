"""Which completed checkpoints refer to which shared files. Decides only: deleting is done elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class SharedStateRegistry:
    """Count the checkpoints that refer to each shared file of a job.

    A file is named by its path relative to the job's directory. The registry outlives the attempts of the job: a
    checkpoint may refer to files that an earlier attempt wrote.
    """

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}
        self._references: Counter[str] = Counter()

    def register(self, checkpoint_id: int, names: Iterable[str]) -> None:
        """Take in a checkpoint with all the shared files it refers to.

        Raises:
            ValueError: If the checkpoint is registered already.
        """
        if checkpoint_id in self._names:
            raise ValueError(f"checkpoint {checkpoint_id} is registered already")
        self._names[checkpoint_id] = frozenset(names)
        self._references.update(self._names[checkpoint_id])

    def unregister(self, checkpoint_id: int) -> frozenset[str]:
        """Forget a checkpoint; return those of its files that nobody refers to any more."""
        names = self._names.pop(checkpoint_id, frozenset())
        unused = frozenset(name for name in names if self._references[name] == 1)
        self._references.subtract(names)
        for name in unused:
            del self._references[name]
        return unused

    def is_referenced(self, name: str) -> bool:
        """Tell whether a registered checkpoint refers to a file."""
        return name in self._references

    def __contains__(self, checkpoint_id: int) -> bool:
        return checkpoint_id in self._names
