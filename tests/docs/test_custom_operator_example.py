"""What the example of a custom operator remembers moves with its key groups."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from rekindle.datastream.operators import KeyGroupRangeAssignment
from rekindle.testing import OperatorHarness

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "custom_operator.py"


def test_what_was_seen_is_known_at_another_parallelism() -> None:
    deduplicate: Any = runpy.run_path(str(PROGRAM))["Deduplicate"]
    values = list(range(100))

    def opened(**settings: Any) -> OperatorHarness:
        return OperatorHarness.keyed(deduplicate(), lambda value: value, **settings)

    before = opened()
    assert before.process(*values[:50]) == [f"new: {value}" for value in values[:50]]
    snapshot = before.snapshot()
    old, new = 0, 0
    assign = KeyGroupRangeAssignment.assign_to_key_group
    for subtask in range(3):
        again = opened(subtask=subtask, parallelism=3, restored=[snapshot])
        own = [value for value in values if assign(value, 128) * 3 // 128 == subtask]
        passed = again.process(*own)
        old += sum(f"new: {value}" in passed for value in values[:50])
        new += len(passed)
    assert (old, new) == (0, 50)
