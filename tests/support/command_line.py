"""Runs commands of ``rekindle``: in this process, or as a process of their own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

PROGRAM = (sys.executable, "-c", "from rekindle.cli import main; main()")


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    output: str
    errors: str

    def json(self) -> Any:
        """Read standard output, which is one document and nothing else."""
        return json.loads(self.output)


def rekindle(*arguments: str) -> Ended:
    """Run a command in this process, just as its own would."""
    from rekindle.cli import main

    output, errors = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["rekindle", *arguments]),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            return Ended(int(end.code or 0), output.getvalue(), errors.getvalue())
    raise AssertionError("main always exits")


def rekindle_process(*arguments: str, environment: dict[str, str] | None = None) -> Ended:
    """Run a command as a process of its own."""
    ended = subprocess.run(
        [*PROGRAM, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)
