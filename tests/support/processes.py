"""Looks at processes, and waits for conditions."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable

DRIVER_TAG = "TEST_DRIVER_OF_REKINDLE"


def wait_until(condition: Callable[[], object], what: str, timeout: float = 60.0) -> None:
    """Wait for a condition; the timeout is only there to end a test that hangs."""
    until = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"still not true after {timeout:.0f} s: {what}")
        time.sleep(0.02)


def command_line(pid: int) -> str:
    """Return the command line of a process, empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def process_name(pid: int) -> str:
    """Return the name of a process, empty when it is gone."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def _environment(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def all_pids() -> list[int]:
    """List all processes that run (zombies do not)."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    if file.read().rpartition(")")[2].split()[0] != "Z":
                        pids.append(int(name))
            except OSError:
                continue
    return pids


def tagged_pids(tag: str) -> list[int]:
    """List the processes that carry a tag in their environment: all descendants of a driver started with it."""
    return [pid for pid in all_pids() if f"{DRIVER_TAG}={tag}" in _environment(pid)]


def tag_environment(tag: str) -> dict[str, str]:
    """Return the environment that marks a driver and all its descendants."""
    return {**os.environ, DRIVER_TAG: tag}


def tag_this_process() -> None:
    """Tag this process, so that its slots can be told from those of other test runs."""
    os.environ.setdefault(DRIVER_TAG, uuid.uuid4().hex)


def is_slot(pid: int) -> bool:
    """Return whether a process is a slot."""
    return "rekindle.runtime.slot" in command_line(pid) or process_name(pid) == "rekindle-slot"


def is_jvm(pid: int) -> bool:
    """Return whether a process is the JVM of a Spark driver."""
    return "org.apache.spark.deploy.SparkSubmit" in command_line(pid)


def slot_pids() -> list[int]:
    """List the slots of this process."""
    return [pid for pid in all_pids() if is_slot(pid) and os.environ[DRIVER_TAG] in _environment(pid)]
