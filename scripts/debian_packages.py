"""Installs packages of Debian, where that is allowed without a password."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence


def become_root() -> list[str] | None:
    """Return what a command must begin with to install something; None where that cannot be, or needs a password."""
    if shutil.which("apt-get") is None:
        return None
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if root and (shutil.which("sudo") is None or subprocess.run([*root, "true"], capture_output=True).returncode != 0):
        return None
    return [*root, "env", "DEBIAN_FRONTEND=noninteractive"]


def install(prefix: Sequence[str], *choices: Sequence[str]) -> str | None:
    """Install the first choice of packages that there is; say what went wrong, None: nothing."""
    update = subprocess.run([*prefix, "apt-get", "update"], capture_output=True, text=True, check=False)
    if update.returncode != 0:
        return f"apt-get update failed:\n{update.stderr.strip()}"
    errors = []
    for packages in choices:
        command = [*prefix, "apt-get", "install", "--yes", "--no-install-recommends", *packages]
        installed = subprocess.run(command, capture_output=True, text=True, check=False)
        if installed.returncode == 0:
            return None
        errors.append(f"apt-get install {' '.join(packages)} failed:\n{installed.stderr.strip()}")
    return "\n".join(errors)
