"""The tick of an attempt: a number in a file, which the job master raises and the tick source reads."""

from __future__ import annotations

import os


def read_tick(path: str) -> int:
    """Read the current tick; 0 once the job master has gone and taken the file along."""
    try:
        with open(path) as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def write_tick(path: str, tick: int) -> None:
    """Raise the tick, atomically."""
    temporary = f"{path}.next"
    with open(temporary, "w") as file:
        file.write(str(tick))
    os.replace(temporary, path)
