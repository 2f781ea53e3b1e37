"""Makes sure that there is a Java that Spark can use; installs Debian's where there is none and that is allowed.

make runs this with the Python of .venv. Where nothing can be installed it prints the command that does it, and fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from debian_packages import become_root, install

from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark.java import require_java

# Debian 12 has the first, Debian 13 only the second; Spark takes both.
PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
MODULE = "jdk.incubator.vector"  # part of every full JDK and JRE, missing in some cut-down ones


def main() -> int:
    """Check, install if need be, check again."""
    problem = _problem()
    if problem is None:
        return 0
    if os.environ.get("JAVA_HOME") or shutil.which("apt-get") is None:
        return _give_up(problem)
    prefix = become_root()
    if prefix is None:
        return _give_up(f"{problem}\nOne command installs it:\n\n    {_command_for_people()}\n")
    print("Installing Java for Spark with apt-get", flush=True)
    failure = install(prefix, *((package,) for package in PACKAGES))
    if failure is not None:
        return _give_up(f"{problem}\n{failure}")
    problem = _problem()
    return 0 if problem is None else _give_up(problem)


def _problem() -> str | None:
    """Return what is wrong with the Java there is; None: nothing."""
    try:
        java = require_java()
    except SparkSetupError as error:
        return str(error)
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False)
    if MODULE not in modules.stdout:
        return f"{java} lacks the module {MODULE}, which Spark needs: it is a cut-down Java. Install a full one"
    return None


def _command_for_people() -> str:
    return f"sudo sh -c 'apt-get update && apt-get install --yes {PACKAGES[0]}'"


def _give_up(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
