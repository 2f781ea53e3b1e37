"""The examples of a source and of a sink with state run as they stand and print what is expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def printed(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLES / program), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_the_counter_source_counts_in_every_subtask_and_in_order() -> None:
    lines = printed("counter_source.py", "--last", "7")
    assert len(lines) == 14
    for subtask in range(2):
        own = [line for line in lines if line.startswith(f"{subtask + 1}> ")]
        assert own == [f"{subtask + 1}> ({subtask}, {number})" for number in range(7)]


def test_the_buffering_sink_writes_whole_batches_and_the_rest_at_the_end() -> None:
    assert printed("buffering_sink.py") == [
        "written: odd=1 even=2 odd=3 even=4",
        "written: odd=5 even=6 odd=7 even=8",
        "written: odd=9 even=10",
    ]
