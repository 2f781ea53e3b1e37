"""Runs ``rekindle``: as a process or, where nothing depends on that and many are run, in this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from rekindle.cli import main

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
    """Return the command line of a command."""
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


def rekindle_here(*arguments: str, cwd: Path | None = None, **variables: str) -> Ended:
    """Run a command to its end in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, {"COLUMNS": "100", **variables}),
        mock.patch.object(sys, "argv", ["rekindle", *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return Ended(code, out.getvalue(), err.getvalue())
