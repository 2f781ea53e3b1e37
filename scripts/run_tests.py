"""Runs all tests: those on Spark, which wait for other processes most of the time, and beside them all others.

make runs this with the Python of .venv. Given arguments, it runs pytest with them and does nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

PYTEST = os.path.join(os.path.dirname(sys.executable), "pytest")
ON_SPARK = ("tests/chaos", "tests/docs", "tests/integration")


def main(arguments: list[str]) -> int:
    """Give 0 if all tests pass."""
    if arguments:
        return subprocess.call([PYTEST, *arguments])
    with tempfile.TemporaryFile() as output:
        command = [PYTEST, "-p", "no:cacheprovider", *(f"--ignore={directory}" for directory in ON_SPARK)]
        with subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as others:
            try:
                failed = subprocess.call([PYTEST, *ON_SPARK])
            except BaseException:
                others.terminate()
                raise
        output.seek(0)
        print(output.read().decode(errors="replace"), end="")
    return failed or others.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
