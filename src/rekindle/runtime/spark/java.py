"""Finds the Java that Spark needs, and says what to do where there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from rekindle.exceptions import SparkSetupError

MINIMUM = 17
_ADVICE = (
    "Spark needs Java 17 or newer. On Debian or Ubuntu: apt-get install openjdk-17-jre-headless. "
    "If Java is installed elsewhere, point JAVA_HOME to it"
)


def require_java() -> str:
    """Find a Java that Spark can use; return its executable."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise SparkSetupError(f"no Java was found: JAVA_HOME is not set and there is no java on the PATH. {_ADVICE}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or error
        raise SparkSetupError(f"Java at {java} cannot be started: {why}. {_ADVICE}") from error
    version = parse_java_version(answer.stderr + answer.stdout)
    if version is None:
        raise SparkSetupError(f"{java} does not say which version of Java it is. {_ADVICE}")
    if version < MINIMUM:
        raise SparkSetupError(f"{java} is Java {version}. {_ADVICE}")
    return java


def parse_java_version(text: str) -> int | None:
    """Read the major version from what ``java -version`` prints."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major
