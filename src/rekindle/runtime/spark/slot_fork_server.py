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

from rekindle.runtime.slot.slot_deployment import REGISTERED

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

    paths: list[bytes]
    environment: dict[bytes, bytes]


def start_fork_server() -> None:
    """Start the fork server of this daemon; where it cannot be had, every slot gets a Python of its own."""
    global _requests
    try:
        requests, own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        child = os.fork()
    except OSError:
        return
    if child == 0:
        try:
            own.close()
            _serve(requests)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    requests.close()
    _requests = own


def fork_slot(deployment: bytes, paths: list[str], timeout: float) -> tuple[bytes, bytes] | None:
    """Start a slot through the fork server.

    Args:
        deployment: What the slot is told.
        paths: Where it finds Python modules.
        timeout: How many seconds it has to register with the job master; then it is killed.

    Returns:
        What the slot's process said on its standard output and standard error until it had registered or was gone; None
        if there is no fork server that did what was asked of it.
    """
    if _requests is None:
        return None
    environment = {**os.environb, b"PYTHONPATH": os.fsencode(os.pathsep.join(paths))}
    request = msgspec.msgpack.encode(ForkRequest([os.fsencode(path) for path in paths], environment))
    if len(request) > _REQUEST_BYTES:
        return None
    with open(os.memfd_create("deployment"), "r+b") as told:  # not a pipe: nobody has to wait until all of it is read
        told.write(deployment)
        told.seek(0)
        (output, written), (errors, complained) = os.pipe(), os.pipe()
        try:
            try:
                socket.send_fds(_requests, [request], [told.fileno(), written, complained])
            except OSError:
                return None
            finally:
                os.close(written)
                os.close(complained)
            return _answer(output, errors, timeout)
        finally:
            os.close(output)
            os.close(errors)


def _answer(output: int, errors: int, timeout: float) -> tuple[bytes, bytes] | None:
    """Read what a slot says until it has closed both; kill it if that takes too long. None: nothing was forked."""
    said = {output: b"", errors: b""}
    ending = b"nothing, and ended"
    until = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for descriptor in said:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                ending = f"nothing within {timeout:.0f} s, and was killed".encode()
                break
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                said[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    pid, forked, answer = said[output].partition(b"\n")
    if not forked:
        return None
    if answer != REGISTERED:
        with suppress(ProcessLookupError):
            os.killpg(int(pid), signal.SIGKILL)  # both processes of the slot are of one session
    return answer, said[errors] or ending


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
        with suppress(OSError):  # who asked sees that there is no slot, and starts it otherwise
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
        os.environb.clear()
        os.environb.update(request.environment)
        sys.path[1:1] = [os.fsdecode(path) for path in request.paths]
        sys.modules["__main__"] = ModuleType("__main__")
        if (numpy_random := sys.modules.get("numpy.random")) is not None:
            numpy_random.seed()  # Python's own is by itself
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
