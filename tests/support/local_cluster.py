"""Spark's cluster of processes on this machine, whose executors can be killed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from support.processes import command_line, tagged_pids

MASTER = "spark.master=local-cluster[2,1,1024]"
"""The setting of a driver with two executors, each for one slot."""


def executors(tag: str) -> list[int]:
    """List the JVMs of a driver's executors."""
    return [pid for pid in tagged_pids(tag) if "CoarseGrainedExecutorBackend" in command_line(pid)]


@pytest.fixture
def own_work_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let drivers find Spark in a directory of the test's own: a local cluster works below Spark's home.

    Several runs of tests share the installed Spark, and none may remove what another one's executors run in.
    """
    installed, home = Path(pyspark.__file__).parent, tmp_path / "spark-home"
    home.mkdir()
    for entry in installed.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    monkeypatch.setenv("SPARK_HOME", str(home))
    yield
    shutil.rmtree(home)
