"""The example of iterations runs as it stands and finds what plain Python finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "iteration.py"
ISLANDS = {"Aa": "Aa", "Bo": "Aa", "Cy": "Aa", "Fa": "Aa", "Du": "Du", "Ek": "Du"}


def collatz(number: int) -> int:
    steps = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps


def test_all_steps_are_counted_and_all_islands_found() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    expected = [f"{number} takes {collatz(number)} steps" for number in (6, 7, 27)]
    expected += [f"{town} is on the island of {island}" for town, island in ISLANDS.items()]
    assert sorted(line.split("> ", 1)[1] for line in run.stdout.splitlines()) == sorted(expected)
