"""A job with a table as a driver with high availability: ha_table.py COUNT DIRECTORY STEP.

The first driver kills itself in the middle of the second commit: before it is written, or after, and before the marker.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from rekindle.datastream.connectors.tables import TableCommit, directory_writer
from support.ha_jobs import ha_environment
from support.table_jobs import placed


def main() -> None:
    count, directory, step = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    env = ha_environment(str(directory))
    write = directory_writer(str(directory / "table"))
    commits = 0

    def killed(when: str) -> None:
        if step == when and commits == 2 and not (directory / "killed").exists():
            (directory / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def writing(frame, commit: TableCommit) -> None:  # type: ignore[no-untyped-def]
        nonlocal commits
        commits += 1
        with (directory / "commits").open("a") as lines:
            lines.write(f"{commit.name} {'repeated' if commit.repeated else ''}\n")
        killed("before")
        write(frame, commit)
        frame.write.mode("append").parquet(str(directory / "appended"))
        killed("after")

    placed(env, count).sink_to_data_frame(writing).uid("table")
    env.execute("table")


if __name__ == "__main__":
    main()
