"""Which completed checkpoints refer to which shared files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType


class SharedStateRegistry:
    """Remember the shared files that each checkpoint of a job refers to.

    A file is named by its path relative to the job's directory. The registry outlives the attempts of the job: a
    checkpoint may refer to files that an earlier attempt wrote.
    """

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}

    def register(self, checkpoint_id: int, names: Iterable[str]) -> None:
        """Take in a checkpoint with all the shared files it refers to.

        Raises:
            ValueError: If the checkpoint is registered already.
        """
        if checkpoint_id in self._names:
            raise ValueError(f"checkpoint {checkpoint_id} is registered already")
        self._names[checkpoint_id] = frozenset(names)

    def unregister(self, checkpoint_id: int) -> None:
        """Forget a checkpoint; nothing happens where it is not known."""
        self._names.pop(checkpoint_id, None)

    def references(self) -> Mapping[int, frozenset[str]]:
        """Return the files that each checkpoint refers to."""
        return MappingProxyType(self._names)
