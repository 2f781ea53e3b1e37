"""Runs all tests in three lanes: two of tests on Spark, which wait for other processes most of the time.

make runs this with the Python of .venv, which has the newest Spark, and says in OLDEST_SPARK which one is the oldest:
some tests are run on that one, too, in an environment of its own. Given arguments, it runs pytest with them and does
nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO

PYTEST = os.path.join(os.path.dirname(sys.executable), "pytest")
WATCHED = ("-m", "spark", "tests/chaos")
"""What is shown as it goes on; the results of the other lanes come at the end."""
BESIDE = (
    ("-m", "spark", "tests/cli", "tests/docs", "tests/integration", "tests/pyflink"),
    ("-m", "not spark"),
)
ON_OLDEST_SPARK = ("-p", "no:cacheprovider", "-m", "smoke", "tests/integration")


class Lane:
    """Run pytest beside other things, and keep what it prints."""

    def __init__(self, arguments: Sequence[str], output: IO[bytes]) -> None:
        self._output = output
        command = [PYTEST, "-p", "no:cacheprovider", *arguments]
        self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def passed(self) -> bool:
        """Wait for the end, print what it has printed, and tell whether all tests passed."""
        code = self._process.wait()
        self._output.seek(0)
        print(self._output.read().decode(errors="replace"), end="", flush=True)
        return code == 0

    def stop(self) -> None:
        """End what still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def main(arguments: list[str]) -> int:
    """Give 0 if all tests pass."""
    if arguments:
        return subprocess.call([PYTEST, *arguments])
    oldest = os.path.join(f".venv-spark-{os.environ['OLDEST_SPARK']}", "bin", "pytest")
    with ExitStack() as stack:
        lanes = []
        for beside in BESIDE:
            lanes.append(Lane(beside, stack.enter_context(tempfile.TemporaryFile())))
            stack.callback(lanes[-1].stop)
        passed = [subprocess.call([PYTEST, *WATCHED]) == 0]
        passed.append(subprocess.call([oldest, *ON_OLDEST_SPARK]) == 0)
        passed += [lane.passed() for lane in lanes]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
