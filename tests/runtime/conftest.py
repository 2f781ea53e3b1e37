"""A watch over what tests of the runtime leave behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a child process or an open file or socket behind."""
    threads, descriptors = set(threading.enumerate()), open_descriptors()
    yield
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
        assert not thread.is_alive(), f"thread {thread.name!r} was left behind"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert open_descriptors() <= descriptors


def open_descriptors() -> set[tuple[int, str]]:
    """List the open files and sockets of this process."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # the one of the listing itself
    return found
