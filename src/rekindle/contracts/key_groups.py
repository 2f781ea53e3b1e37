"""Key groups: the unit in which keyed state is stored, snapshotted and moved.

Pure arithmetic. The key's hash lives in :mod:`rekindle.state.key_hash`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rekindle.exceptions import ConfigurationError

MAX_PARALLELISM_LIMIT = 32768
_DEFAULT_MAX_PARALLELISM_FLOOR = 128


@dataclass(frozen=True, slots=True)
class KeyGroupRange:
    """Hold the key groups ``start`` to ``end``, both included."""

    start: int
    end: int

    def __contains__(self, key_group: int) -> bool:
        return self.start <= key_group <= self.end

    def __len__(self) -> int:
        return max(0, self.end - self.start + 1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end + 1))

    def intersects(self, other: KeyGroupRange) -> bool:
        """Return whether the two ranges share a key group."""
        return self.start <= other.end and other.start <= self.end


def default_max_parallelism(parallelism: int) -> int:
    """Derive the number of key groups of an operator that did not set one."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(0, wanted - 1).bit_length()
    return min(max(power, _DEFAULT_MAX_PARALLELISM_FLOOR), MAX_PARALLELISM_LIMIT)


def check_parallelism(parallelism: int, max_parallelism: int) -> None:
    """Raise unless ``0 < parallelism <= max_parallelism <= 32768``."""
    if not 0 < max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise ConfigurationError(
            f"max parallelism {max_parallelism} is out of range: it must be between 1 and {MAX_PARALLELISM_LIMIT}"
        )
    if not 0 < parallelism <= max_parallelism:
        raise ConfigurationError(
            f"parallelism {parallelism} is out of range: it must be between 1 and the max parallelism, "
            f"{max_parallelism}"
        )


def subtask_of_key_group(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Return which subtask owns a key group."""
    return key_group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> KeyGroupRange:
    """Return the key groups that a subtask owns."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism - 1) // parallelism
    return KeyGroupRange(start, end)
