"""Runs commands of ``rekindle``: each as a process of its own, or within this one, which is faster."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

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


def invoke(*arguments: str) -> Ended:
    """Run a command within this process, just as its own would."""
    from rekindle.cli import main

    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["rekindle", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            return Ended(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("main always exits")
