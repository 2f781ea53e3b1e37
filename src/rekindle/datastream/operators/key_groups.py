"""Which key group a key belongs to, for operators that write raw keyed state."""

from __future__ import annotations

from typing import Any

from rekindle.state.key_hash import key_group_of

__all__ = ["KeyGroupRangeAssignment"]


class KeyGroupRangeAssignment:
    """How keys are assigned to key groups."""

    @staticmethod
    def assign_to_key_group(key: Any, max_parallelism: int) -> int:
        """Return the key group of a key.

        Args:
            key: The key.
            max_parallelism: The number of key groups: ``get_max_number_of_parallel_subtasks()`` of the runtime context.
        """
        return key_group_of(key, max_parallelism)
