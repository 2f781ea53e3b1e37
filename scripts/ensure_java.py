"""Makes sure that there is a Java that Spark can use; installs Debian's where there is none and that is allowed.

make runs this with the Python of .venv. Where nothing can be installed it prints the command that does it, and fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

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
    become_root = _become_root()
    if become_root is None:
        return _give_up(f"{problem}\nOne command installs it:\n\n    {_command_for_people()}\n")
    print("Installing Java for Spark with apt-get", flush=True)
    failure = _install([*become_root, "env", "DEBIAN_FRONTEND=noninteractive"])
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


def _become_root() -> list[str] | None:
    """Return what a command must begin with to run as root; None where that needs a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _install(prefix: list[str]) -> str | None:
    """Install the first package there is; say what went wrong, None: nothing."""
    update = subprocess.run([*prefix, "apt-get", "update"], capture_output=True, text=True, check=False)
    if update.returncode != 0:
        return f"apt-get update failed:\n{update.stderr.strip()}"
    options = ["--yes", "--no-install-recommends"]
    errors = []
    for package in PACKAGES:
        command = [*prefix, "apt-get", "install", *options, package]
        installed = subprocess.run(command, capture_output=True, text=True, check=False)
        if installed.returncode == 0:
            return None
        errors.append(f"apt-get install {package} failed:\n{installed.stderr.strip()}")
    return "\n".join(errors)


def _command_for_people() -> str:
    return f"sudo sh -c 'apt-get update && apt-get install --yes {PACKAGES[0]}'"


def _give_up(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
