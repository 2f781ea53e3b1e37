"""The function with operator state in the documentation does what is said of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rekindle.testing import OperatorHarness

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "state.md"


def example() -> Any:
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if "class BufferingSink" in block]
    names: dict[str, Any] = {}
    exec(compile(block, DOCUMENT.name, "exec"), names)
    return names["BufferingSink"]


def test_what_waits_for_its_batch_is_in_the_checkpoint_and_is_dealt_out() -> None:
    sink, written = example(), []
    before = OperatorHarness.unkeyed(sink(3, written.append))
    before.process(1, 2, 3, 4, 5)
    assert written == [[1, 2, 3]]
    snapshot = before.snapshot()
    before.process(6)  # lost, and will come again
    for subtask in range(2):
        again = OperatorHarness.unkeyed(sink(2, written.append), subtask=subtask, parallelism=2, restored=[snapshot])
        again.process(6)
    assert written == [[1, 2, 3], [4, 5, 6], [4, 6], [5, 6]]


def test_what_waits_at_the_end_is_written() -> None:
    written: list[list[int]] = []
    harness = OperatorHarness.unkeyed(example()(3, written.append))
    harness.process(1, 2, 3, 4)
    harness.finish()
    assert written == [[1, 2, 3], [4]]
