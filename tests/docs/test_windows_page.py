"""The examples in docs/windows.md give what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from support.in_process_job import InProcessJob, collect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "windows.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def examples() -> tuple[str, list[tuple[str, str]]]:
    """Return the program that all examples share, and each of them with what it gives."""
    shared, *others = BLOCK.findall(PAGE.read_text())
    assert shared[1] == ""
    return shared[0], others


def test_each_example_gives_what_the_page_says() -> None:
    shared, others = examples()
    assert len(others) == 7
    for program, expected in others:
        names: dict[str, Any] = {"__name__": "windows_page"}
        exec(compile(shared + program, str(PAGE), "exec"), names)  # as a user would run it
        collect(names["result"])
        with InProcessJob(names["env"], 1) as job:
            assert sorted(map(repr, job.run_to_end())) == expected.splitlines(), program
