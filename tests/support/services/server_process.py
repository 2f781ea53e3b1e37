"""Starts the processes of servers, which end with the run of tests that started them, and finds ports for them."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
_PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)

# Linux ends such a child with the thread that started it, and tests restart servers from threads that come and go.
_STARTER = ThreadPoolExecutor(1, "server-starter")


def start_server(command: Sequence[str | Path], log: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a server that writes to a log, and that Linux kills when this process is gone, however that came.

    Args:
        command: The program and its arguments.
        log: What it prints is added to this file.
        options: More of what ``Popen`` takes.
    """
    parent = os.getpid()

    def end_with_parent() -> None:
        if _PRCTL is not None:
            _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it is gone already
                os._exit(1)

    with open(log, "ab") as output:
        options |= {"stdout": output, "stderr": output, "preexec_fn": end_with_parent}
        return _STARTER.submit(subprocess.Popen, command, **options).result()


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody listens on."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
