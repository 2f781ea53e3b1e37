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
def clean_work_directory() -> Iterator[None]:
    """Remove the work directories that a local cluster leaves in Spark's home."""
    work = Path(pyspark.__file__).parent / "work"
    before = set(work.glob("app-*"))
    yield
    for directory in set(work.glob("app-*")) - before:
        shutil.rmtree(directory)
