"""The driver's scratch directory, removed however the driver ends.

A small process waits for the driver's end of a pipe to close, which even SIGKILL does, and then removes the directory.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress

# Spark may still be writing when the driver has just been killed: try again for a while.
_JANITOR = """
import os, shutil, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdin.read()
if os.path.exists(sys.argv[1]):
    for _ in range(40):
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        time.sleep(0.1)
"""


class ScratchDirectory:
    """Make a directory that is gone after the driver."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="rekindle-")
        self._janitor = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _JANITOR, self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the directory and let the janitor go."""
        shutil.rmtree(self.path, ignore_errors=True)
        assert self._janitor.stdin is not None
        with suppress(OSError):
            self._janitor.stdin.close()
        try:
            self._janitor.wait(10)
        except subprocess.TimeoutExpired:
            self._janitor.kill()
            self._janitor.wait()
