"""Which subtask owns a key."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.runtime.exchange.dealing import Places
from rekindle.state.key_hash import key_group_of, key_groups_of_longs

_CACHED_KEYS = 1 << 17
_CACHED_INTEGERS = 1 << 14  # hashing a chunk of integers at once takes less time than to look them up among more


class KeyRoutes(dict[Any, int]):
    """Remember the subtasks of the keys seen lately; equal keys share a route, as they share their state."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        groups = range(max_parallelism)
        self._of_groups = np.array([subtask_of_key_group(group, parallelism, max_parallelism) for group in groups])

    def targets(self, keys: list[Any]) -> Places:
        """Return the subtask of each key."""
        if len(self) >= _CACHED_INTEGERS and set(map(type, keys)) == {int}:
            with suppress(OverflowError):  # integers of more than 64 bits
                return self.targets_of_longs(np.array(keys, dtype=np.int64))
        return np.fromiter(map(self.__getitem__, keys), np.int64, len(keys))

    def targets_of_longs(self, keys: npt.NDArray[np.int64]) -> Places:
        """Return the subtask of each key, where keys are integers."""
        targets: Places = self._of_groups[key_groups_of_longs(keys, self._max_parallelism)]
        return targets

    def __missing__(self, key: Any) -> int:
        if len(self) >= _CACHED_KEYS:
            self.clear()
        group = key_group_of(key, self._max_parallelism)
        target = self[key] = subtask_of_key_group(group, self._parallelism, self._max_parallelism)
        return target
