"""A piece of a RocksDB checkpoint that a backend is restored from."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.contracts.key_groups import KeyGroupRange


@dataclass(frozen=True, slots=True)
class NativePart:
    """Point to the files that one old subtask wrote, on local disk, and say which key groups they hold."""

    directory: str
    key_groups: KeyGroupRange
