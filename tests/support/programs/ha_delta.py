"""A job with a Delta table as a driver with high availability: ha_delta.py COUNT DIRECTORY STEP.

The first driver kills itself in the middle of the second commit: before Delta's own, or after it and before the marker.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from rekindle.datastream.connectors.tables import TableCommit, delta_writer
from support.ha_jobs import ha_environment
from support.services.delta import delta_session
from support.table_jobs import placed


def main() -> None:
    count, directory, step = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    write = delta_writer(str(directory / "table"))
    commits = 0

    def killed(when: str) -> None:
        if step == when and commits == 2 and not (directory / "killed").exists():
            (directory / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def writing(frame, commit: TableCommit) -> None:  # type: ignore[no-untyped-def]
        nonlocal commits
        commits += 1
        killed("before")
        write(frame, commit)
        frame.write.format("delta").mode("append").save(str(directory / "appended"))
        killed("after")

    with delta_session() as session:
        env = ha_environment(str(directory), cluster=session)
        placed(env, count).sink_to_data_frame(writing).uid("table")
        env.execute("table")


if __name__ == "__main__":
    main()
