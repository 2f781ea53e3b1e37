"""Runs ``rekindle`` as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 300  # only there to end a test that hangs


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Read the standard output: one document, and nothing besides."""
        return json.loads(self.out)


def rekindle_command(*arguments: str) -> list[str]:
    """Give the command line of a command."""
    return [sys.executable, "-m", "rekindle.cli", *arguments]


def rekindle(*arguments: str, cwd: Path | None = None, **variables: str) -> Ended:
    """Run a command to its end."""
    ended = subprocess.run(
        rekindle_command(*arguments),
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **variables},
        timeout=TIMEOUT,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)
