"""Runs all tests in two lanes: tests on Spark wait for other processes most of the time.

make runs this with the Python of .venv. Given arguments, it runs pytest with them and does nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from typing import IO

PYTEST = os.path.join(os.path.dirname(sys.executable), "pytest")
FIRST_LANE = ("tests/chaos", "tests/docs")
SECOND_LANE = ("tests/integration",)


class Lane(threading.Thread):
    """Run pytest several times, one after the other.

    Attributes:
        failed: Whether any of them failed.
    """

    def __init__(self, runs: list[list[str]], output: IO[bytes]) -> None:
        super().__init__()
        self.failed = False
        self._runs = runs
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        for arguments in self._runs:
            if not self._stopped:
                self._process = subprocess.Popen(
                    [PYTEST, "-p", "no:cacheprovider", *arguments], stdout=self._output, stderr=subprocess.STDOUT
                )
                self.failed = self._process.wait() != 0 or self.failed

    def stop(self) -> None:
        """End what runs, and begin nothing else."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()


def main(arguments: list[str]) -> int:
    """Give 0 if all tests pass."""
    if arguments:
        return subprocess.call([PYTEST, *arguments])
    others = [f"--ignore={directory}" for directory in (*FIRST_LANE, *SECOND_LANE)]
    with tempfile.TemporaryFile() as output:
        beside = Lane([list(SECOND_LANE), others], output)
        beside.start()
        try:
            failed = subprocess.call([PYTEST, *FIRST_LANE])
            beside.join()
        except BaseException:
            beside.stop()
            beside.join()
            raise
        output.seek(0)
        print(output.read().decode(errors="replace"), end="")
    return failed or int(beside.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
