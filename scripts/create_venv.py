"""Makes .venv at the root of the repository and installs Rekindle in it, editable, with the tools of development.

Given a version of Spark, such as 4.0, it makes .venv-spark-4.0, with that Spark instead of the newest.

make runs this with the Python that the environment is to have. It needs the standard library only, and any pip that
can install a project in editable form: the tools are read from pyproject.toml here, because pip knows dependency groups
only since 25.1.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Environment:
    """An environment of this repository.

    Args:
        spark: The Spark that it has, such as ``4.0``; the newest that Rekindle supports if None.
    """

    def __init__(self, spark: str | None = None) -> None:
        self.directory = ROOT / (".venv" if spark is None else f".venv-spark-{spark}")
        self.python = self.directory / "bin" / "python"
        self.stamp = self.directory / ".installed"  # its time tells make when this was done last
        self.chosen = [] if spark is None else [f"pyspark=={spark}.*"]

    def create(self) -> int:
        """Create what is missing; return the exit code of what failed, or 0."""
        if not self._starts():
            _say(f"Creating {self.directory.name} with Python {sys.version.split()[0]}")
            try:
                venv.create(self.directory, clear=True, with_pip=True)
            except subprocess.CalledProcessError:
                _say(
                    "This Python cannot make an environment with pip. On Debian or Ubuntu: apt-get install python3-venv"
                )
                return 1
        if not self._has_pip():
            subprocess.run([self.python, "-m", "ensurepip"], stdout=subprocess.DEVNULL, check=True)
        _say(
            f"Installing Rekindle, Spark and the tools of development into {self.directory.name} "
            "(the first time takes some minutes)"
        )
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        installed = subprocess.run([*pip, "--editable", ROOT, *self.chosen, *_tools()], check=False)
        if installed.returncode == 0:
            self.stamp.touch()
        return installed.returncode

    def _starts(self) -> bool:
        """Return whether the environment is there and its Python works: it does not after that Python was removed."""
        return self.python.exists() and _succeeds([self.python, "-c", ""])

    def _has_pip(self) -> bool:
        return _succeeds([self.python, "-m", "pip", "--version"])


def _succeeds(command: list[str | Path]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _tools() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        tools: list[str] = tomllib.load(file)["dependency-groups"]["dev"]
    return tools


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(Environment(*sys.argv[1:]).create())
