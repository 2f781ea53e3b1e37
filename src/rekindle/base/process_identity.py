"""Whether a process still runs: by its number and when it started, because numbers are used again."""

from __future__ import annotations

import os
from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in ticks since the start of the machine; None if it is gone or nobody knows."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name of the program, in parentheses, may hold anything. A process that nobody has waited for yet is gone, too.
    fields = status[status.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def process_runs(pid: int, started: int | None) -> bool:
    """Return whether a process runs.

    Args:
        pid: Its number.
        started: When it started, by :func:`start_ticks`; None where the system does not tell.
    """
    if started is not None:
        return start_ticks(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # a process of somebody else's: ours is gone
    return True


def boot_id() -> str | None:
    """Name this run of the machine: processes do not outlive it. None where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
