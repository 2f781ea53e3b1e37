"""Makes .venv at the root of the repository and installs Rekindle in it, editable, with the tools of development.

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
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
STAMP = ENVIRONMENT / ".installed"  # its time tells make when this was done last


def main() -> int:
    """Create what is missing."""
    if not _starts():
        _say(f"Creating .venv with Python {sys.version.split()[0]}")
        try:
            venv.create(ENVIRONMENT, clear=True, with_pip=True)
        except subprocess.CalledProcessError:
            _say("This Python cannot make an environment with pip. On Debian or Ubuntu: apt-get install python3-venv")
            return 1
    if not _has_pip():
        subprocess.run([PYTHON, "-m", "ensurepip"], stdout=subprocess.DEVNULL, check=True)
    _say("Installing Rekindle, Spark and the tools of development into .venv (the first time takes some minutes)")
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ROOT, *_tools()]
    installed = subprocess.run(command, check=False)
    if installed.returncode == 0:
        STAMP.touch()
    return installed.returncode


def _starts() -> bool:
    """Tell whether the environment is there and its Python works: it does not after that Python was removed."""
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", ""], capture_output=True, check=False).returncode == 0


def _has_pip() -> bool:
    return subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def _tools() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        tools: list[str] = tomllib.load(file)["dependency-groups"]["dev"]
    return tools


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
