"""The numbering job as a driver with high availability: ha_numbering.py EVENTS DIRECTORY GATE [key=value …].

Spark is started at once, and the job once the file GATE is there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rekindle.common import Configuration
from rekindle.exceptions import JobFencedError
from rekindle.runtime.spark.session import create_session
from support.ha_jobs import NAME, ha_program


def main() -> None:
    count, directory, gate, *settings = sys.argv[1:]
    options = dict(setting.split("=", 1) for setting in settings)
    pause = float(options.pop("pause", "0"))
    session = create_session(Configuration(), parallelism=2)
    while not Path(gate).exists():
        time.sleep(0.05)
    try:
        ha_program(int(count), directory, options, session, pause).execute(NAME)
    except JobFencedError as fence:
        print(f"fenced: {fence}", flush=True)
        sys.exit(3)


if __name__ == "__main__":
    main()
