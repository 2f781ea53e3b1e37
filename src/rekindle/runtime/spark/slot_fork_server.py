"""Forks slots from a process that has imported what every slot needs, on machines where Rekindle runs Spark's daemon.

A Python that starts anew takes most of half a second for its imports, and every restart of a job waits for that. The
fork server is a child of the daemon's. It never runs code of users', so what it leaves to slots is the same each time.
Workers have the other end of its socket from the daemon: nobody else can reach it, and it ends when the last of them
has ended.
"""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from types import ModuleType
from typing import NoReturn

import msgspec

_REQUEST_BYTES = 128 * 1024  # of paths and environment; those that are larger are left to a Python of their own
_SLOT = "rekindle.runtime.slot.__main__"
_PROCESS_NAME = "rekindle-slot"

_requests: socket.socket | None = None  # in the daemon, and so in its workers


class ForkRequest(msgspec.Struct, frozen=True):
    """Ask for a slot, whose standard streams come with the request.

    Attributes:
        paths: Where it finds Python modules.
        environment: Its environment.
    """

    paths: list[str]
    environment: dict[str, str]


def start_fork_server() -> None:
    """Start the fork server of this daemon."""
    global _requests
    requests, _requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        _requests.close()
        _serve(requests)
    requests.close()


def fork_slot(deployment: bytes, paths: list[str], timeout: float) -> tuple[bytes, bytes] | None:
    """Start a slot through the fork server.

    Args:
        deployment: What the slot is told.
        paths: Where it finds Python modules.
        timeout: How many seconds it has to register with the job master; then it is killed.

    Returns:
        What the slot's process said on its standard output and standard error until it had registered or was gone; None
        if there is no fork server that would take the request.
    """
    request = msgspec.msgpack.encode(ForkRequest(paths, dict(os.environ)))
    if _requests is None or len(request) > _REQUEST_BYTES:
        return None
    (told, tell), (output, written), (errors, complained) = os.pipe(), os.pipe(), os.pipe()
    try:
        socket.send_fds(_requests, [request], [told, written, complained])
    except OSError:
        for descriptor in (tell, output, errors):
            os.close(descriptor)
        return None
    finally:
        for descriptor in (told, written, complained):
            os.close(descriptor)
    with os.fdopen(tell, "wb") as file, suppress(BrokenPipeError):
        file.write(deployment)
    try:
        return _read_both(output, errors, timeout)
    finally:
        os.close(output)
        os.close(errors)


def _read_both(output: int, errors: int, timeout: float) -> tuple[bytes, bytes]:
    """Read what a slot says until it has closed both; kill it if that takes too long."""
    said = {output: b"", errors: b""}
    until = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for descriptor in said:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                _kill(said[output])
                break
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                said[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return said[output], said[errors]


def _kill(output: bytes) -> None:
    """Kill a slot that has said which process it is."""
    first_line, newline, _ = output.partition(b"\n")
    if newline:
        with suppress(ProcessLookupError):
            os.killpg(int(first_line), signal.SIGKILL)  # both processes of the slot are of one session


def _serve(requests: socket.socket) -> NoReturn:
    """Be the fork server, until nobody is left who could ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the job master's to handle
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    importlib.import_module(_SLOT)
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 3)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            _be_slot(msgspec.msgpack.decode(request, type=ForkRequest), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _be_slot(request: ForkRequest, descriptors: list[int]) -> NoReturn:
    """Be a slot, as if ``python -m rekindle.runtime.slot`` had been started."""
    code = 1
    try:
        os.setsid()
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.write(1, f"{os.getpid()}\n".encode())
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(request.environment)
        sys.path[1:1] = request.paths
        sys.modules["__main__"] = ModuleType("__main__")
        _name_this_process()
        code = importlib.import_module(_SLOT).main()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _name_this_process() -> None:
    """Let ``ps`` and ``top`` tell slots from workers, which have the same command line."""
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(_PROCESS_NAME)
