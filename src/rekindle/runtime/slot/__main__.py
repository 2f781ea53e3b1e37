"""Starts a slot process: ``python -m rekindle.runtime.slot``, with a SlotDeployment on standard input.

The process ends when its child, the slot, has registered with the job master, and says so. If the slot dies before, it
ends with an error and what the slot said: so nobody waits for a slot that is not there.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import NoReturn

import msgspec

from rekindle.base.clock import SystemClock
from rekindle.exceptions import SlotLostError
from rekindle.runtime.slot.control_client import ControlClient
from rekindle.runtime.slot.data_server import DataServer
from rekindle.runtime.slot.failure import describe_failure
from rekindle.runtime.slot.orders import carry_out
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.slot.slot_deployment import REGISTERED, SlotDeployment
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, load_job
from rekindle.runtime.wire import messages as m
from rekindle.serialization.snapshots.snapshot_aliases import adopt_aliases


def main() -> int:
    """Run until the job master says so or is gone."""
    deployment = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=SlotDeployment)
    release_starter = _detach()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the job master's to handle
    try:
        control = ControlClient(deployment)
    except SlotLostError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    release_starter()
    sys.path[:] = [*deployment.sys_path, *(entry for entry in sys.path if entry not in deployment.sys_path)]
    failing = threading.Lock()

    show_records = True
    slot: Slot | None = None

    def failed(error: BaseException) -> str:
        if slot is None:
            failure = describe_failure(error, deployment.slot, show_records)
        else:
            failure = slot.describe(error)
        with failing, contextlib.suppress(OSError):
            control.send(failure)
        return failure.summary

    sys.stdout = ForwardedStream(lambda text: control.send(m.Output(m.STDOUT, -1, text)))
    sys.stderr = ForwardedStream(lambda text: control.send(m.Output(m.STDERR, -1, text)))
    try:
        job = load_job(deployment.job)
        show_records = job.show_records
        # Records and state are pickled by the names of their classes: let the names of the user's script mean the same
        # here as there.
        vars(sys.modules["__main__"]).update(job.main_classes)
        adopt_aliases(job.snapshot_aliases)
        if job.graph.cluster_sources:
            importlib.import_module("rekindle.runtime.exchange.arrow_batches")  # now, while there is nothing else to do
        gc.collect()
        opening = control.opening_order()
        if opening is None:
            return 0  # the attempt does not come about
        if opening.restore is not None:
            job.restore = RestoredCheckpoint.ordered(opening.restore, job.snapshots.files)
        program = partial(load_job, deployment.job)
        slot = Slot(job, deployment.slot, deployment.attempt, SystemClock(), control.send, program)
        control.at_exit = slot.abandon
        server = DataServer(slot, deployment.secret, control.own_host if deployment.listen_tcp else None, failed)
        slot.open()
    except BaseException as error:
        failed(error)
        control.receive_all(lambda order: None)
        return 1
    # Records and state are many small objects, hardly ever in cycles: full collections over them took a third of a
    # slot's time. Young ones must stay frequent: they take tuples of plain values out of the collector's lists. But
    # where they come several times in a chunk, they look at results that are gone with the chunk.
    gc.freeze()
    gc.set_threshold(10_000, 10, 400)
    try:
        queries = slot.listen_for_queries(control.own_host if deployment.listen_tcp else None, opening.proxy_ports)
    except BaseException as error:
        failed(error)
        control.receive_all(lambda order: None)
        return 1
    control.send(m.Ready(server.unix_name, server.port, control.own_host, queries))
    handle = _dispatcher(slot, failed)
    control.receive_all(handle)
    server.close()
    slot.abandon()
    return 0


def _detach() -> Callable[[], None]:
    """Go on in a child, and let this process wait for what becomes of it; give what ends that wait well.

    The child belongs to nobody then. Until then its standard error is that of this process.
    """
    waiting, released = os.pipe()
    child = os.fork()
    if child:
        os.close(released)
        _await_release(waiting, child)
    os.close(waiting)

    def release() -> None:
        os.write(released, REGISTERED)
        os.close(released)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)

    return release


def _await_release(waiting: int, child: int) -> NoReturn:
    """Wait for the slot to register or to die, and end as that ends."""
    if os.read(waiting, len(REGISTERED)) == REGISTERED:
        os.write(1, REGISTERED)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    os.write(2, f"its process {how} before it had registered with the job master\n".encode())
    os._exit(1)


def _dispatcher(slot: Slot, failed: Callable[[BaseException], str]) -> Callable[[m.ToSlot], None]:
    def handle(order: m.ToSlot) -> None:
        try:
            if isinstance(order, m.Shutdown):
                slot.close(order.job_over)
                sys.stdout.flush()
                os._exit(0)
            carry_out(slot, order)
        except BaseException as error:
            failed(error)
            if isinstance(order, m.Shutdown):
                os._exit(1)

    return handle


class ForwardedStream(io.TextIOBase):
    """Send whole lines of what user code prints to the driver."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._line = ""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            lines, newline, self._line = (self._line + text).rpartition("\n")
            if newline:
                self._forward(lines + newline)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            text, self._line = self._line, ""
            if text:
                self._forward(text)

    def _forward(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the driver has gone: nobody is left to read it
            self._send(text.encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    status = main()
    os._exit(status)
