"""A driver in a process of its own that is suspended right before the operation that would make its entry count.

Run as a program: ``suspended_driver.py LOCATION``. It takes over the job and begins to commit a checkpoint; at the
rename, the conditional write or the link it stops itself. Continued, it prints what became of the commit.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import RekindleError
from rekindle.ha.entry import CheckpointReference, LogEntry, Owner
from rekindle.ha.log import JobLog
from rekindle.ha.ownership import IDS_AHEAD, JobOwnership
from rekindle.testing import ManualClock


def take(files: CheckpointFiles, name: str) -> JobOwnership:
    """Take over as another driver."""

    def claim(latest: LogEntry | None) -> LogEntry:
        number = 1 if latest is None else latest.number + 1
        ids_to = (0 if latest is None else latest.ids_to) + IDS_AHEAD
        checkpoints = [] if latest is None else latest.checkpoints
        return LogEntry(number, "claim", Owner(name, f"host-{name}", 7), number, "id", "job", 0, ids_to, checkpoints)

    log = JobLog(files, "job")
    return JobOwnership(ManualClock(), log, log.claim(claim)[0])


def references(*numbers: int) -> list[CheckpointReference]:
    """Make references to checkpoints."""
    return [CheckpointReference(number, f"/c/chk-{number}", 5) for number in numbers]


def stopping(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation, behind a stop of the process."""

    def stopped(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        return operation(*arguments, **options)

    return stopped


def main(location: str) -> None:
    """Commit, and stop before it counts."""
    driver = take(checkpoint_files(location), "a")
    if location.startswith("hdfs:"):
        import hdfs_native

        hdfs_native.Client.rename = stopping(hdfs_native.Client.rename)  # type: ignore[method-assign]
    elif location.startswith("s3:"):
        import obstore

        obstore.put = stopping(obstore.put)  # type: ignore[assignment]
    else:
        os.link = stopping(os.link)
    try:
        driver.commit(references(1))
    except RekindleError as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("committed")


if __name__ == "__main__":
    main(sys.argv[1])
