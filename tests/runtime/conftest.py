"""A watch over what tests of the runtime leave behind."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a child process or an open file or socket behind."""
    threads, children, descriptors = set(threading.enumerate()), child_processes(), open_descriptors()
    yield
    for thread in set(threading.enumerate()) - threads:
        thread._started.wait(10)  # type: ignore[attr-defined]  # it may be about to begin
        thread.join(10)
        assert not thread.is_alive(), f"thread {thread.name!r} was left behind"
    assert child_processes() <= children
    if not spark_runs():
        assert open_descriptors() <= descriptors


def child_processes() -> set[str]:
    """List the processes that this one has started and not waited for."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


def open_descriptors() -> set[tuple[int, str]]:
    """List the open files and sockets of this process."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # the one of the listing itself
    return found


def spark_runs() -> bool:
    """Return whether another test has started Spark in this process: it opens sockets when it likes."""
    context = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    return getattr(context, "_active_spark_context", None) is not None
