"""A machine without room in /dev/shm, as a container that was given none: nothing of Rekindle's needs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.driver import driver

OWN_MOUNTS = ["-m"] if os.geteuid() == 0 else ["-rm"]
NO_ROOM = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && { echo; head -c 4096 /dev/zero > /dev/shm/full; exec "$@"; }'
UNSHARE = [*OWN_MOUNTS, "sh", "-c", NO_ROOM, "sh"]


def _allowed() -> bool:
    try:
        return subprocess.run(["unshare", *UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.spark
def test_a_job_on_spark_needs_no_shared_memory() -> None:
    if not _allowed():
        pytest.skip("this user may not mount anything, not even for one process")
    place = Path("/var/tmp", f"rekindle-no-shm-{os.getpid()}")  # the usual one may be in /dev/shm
    place.mkdir()
    environment = {
        "TMPDIR": str(place),
        "SPARK_LOCAL_DIRS": str(place),
        "_JAVA_OPTIONS": f"-Djava.io.tmpdir={place} -XX:-UsePerfData",
        "REKINDLE_STATE_DIR": str(place),
    }
    try:
        with driver(
            "submitted.py", environment=environment, through=[*UNSHARE, sys.executable], executable="unshare"
        ) as running:
            assert running.wait() == 0, running.output()
            assert sorted(map(int, re.findall(r"\d> (\d+)", running.output())))[-3:] == [1617, 1650, 1683]
    finally:
        subprocess.run(["rm", "-rf", str(place)], check=True)
