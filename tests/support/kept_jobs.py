"""Jobs that only seem to have run: entries of the archive."""

from __future__ import annotations

import os
import socket
from typing import Any

from rekindle.archive.directory import archive_directory, write_entry
from rekindle.archive.job_entry import JobEntry
from rekindle.base.process_identity import boot_id, start_ticks

START = 1_700_000_000_000


def entry(job_id: str = "5f1c", **fields: Any) -> JobEntry:
    """Make an entry: of a job that runs in this process, unless fields say otherwise."""
    known: dict[str, Any] = {
        "job_id": job_id.ljust(32, "0"),
        "job_name": "orders",
        "program": "/jobs/orders.py",
        "arguments": ("--day", "monday"),
        "host": socket.gethostname(),
        "boot_id": boot_id(),
        "pid": os.getpid(),
        "start_ticks": start_ticks(os.getpid()),
        "started": START,
        "status": "RUNNING",
        "parallelism": 2,
    }
    return JobEntry(**{**known, **fields})


def keep(job_id: str = "5f1c", **fields: Any) -> JobEntry:
    """Write an entry into the archive."""
    made = entry(job_id, **fields)
    write_entry(archive_directory(), made)
    return made
