"""How many files this program, and the JVM that it starts, may have open."""

from __future__ import annotations

import resource

from rekindle.exceptions import SparkSetupError

MINIMUM = 512  # Spark's JVM alone opens some 300
_ENOUGH = 4096  # a slot has a connection to each of the others


def require_open_files() -> None:
    """Let this process and its children open as many files as they need, as far as the system lets it.

    Raises:
        SparkSetupError: Those are too few for Spark to start.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    if not unlimited and hard < MINIMUM:
        raise SparkSetupError(
            f"a process may open only {hard} files here, and Spark needs at least {MINIMUM}, with many subtasks more. "
            f"Raise the limit where the program is started: ulimit -n {_ENOUGH} in a shell, LimitNOFILE= of a systemd "
            "unit, --ulimit nofile= of a container"
        )
    wanted = _ENOUGH if unlimited else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
