"""Starts a slot process: ``python -m rekindle.runtime.slot``, with a SlotDeployment on standard input."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable

import msgspec

from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.clock import SystemClock
from rekindle.runtime.slot.control_client import ControlClient
from rekindle.runtime.slot.data_server import DataServer
from rekindle.runtime.slot.deployment import SlotDeployment, SlotJob
from rekindle.runtime.slot.failure import describe_failure
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.wire import messages as m
from rekindle.serialization.snapshot_aliases import adopt_aliases

STDOUT = "stdout"
STDERR = "stderr"


def main() -> int:
    """Run until the job master says so or is gone."""
    deployment = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=SlotDeployment)
    _detach()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the job master's to handle
    sys.path[:] = [*deployment.sys_path, *(entry for entry in sys.path if entry not in deployment.sys_path)]
    control = ControlClient(
        deployment.master_host,
        deployment.master_port,
        deployment.secret,
        deployment.heartbeat_ms,
        deployment.orphan_timeout_ms,
    )
    failing = threading.Lock()

    def failed(error: BaseException) -> None:
        with failing, contextlib.suppress(OSError):
            control.send(describe_failure(error, deployment.slot))

    sys.stdout = ForwardedStream(lambda text: control.send(m.Output(STDOUT, -1, text)))
    sys.stderr = ForwardedStream(lambda text: control.send(m.Output(STDERR, -1, text)))
    try:
        job = load_job(deployment.job)
        # Records and state are pickled by the names of their classes: let the names of the user's script mean the same
        # here as there.
        vars(sys.modules["__main__"]).update(job.main_classes)
        adopt_aliases(job.snapshot_aliases)
        slot = Slot(job, deployment.slot, deployment.attempt, SystemClock(), control.send)
        control.at_exit = slot.abandon
        server = DataServer(slot, deployment.secret, control.own_host if deployment.listen_tcp else None, failed)
        control.send(
            m.Register(
                deployment.attempt,
                deployment.slot,
                os.getpid(),
                socket.gethostname(),
                server.unix_name,
                server.port,
                control.own_host,
            )
        )
        slot.open()
    except Exception as error:
        failed(error)
        control.receive_all(lambda order: None)
        return 1
    # Records and state are many small objects, hardly ever in cycles: full collections over them took a third of a
    # slot's time. Young ones must stay frequent: they take tuples of plain values out of the collector's lists.
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 20, 1_000)
    control.send(m.Ready())
    handle = _dispatcher(slot, failed)
    control.receive_all(handle)
    server.close()
    slot.abandon()
    return 0


def load_job(data: bytes) -> SlotJob:
    """Unpickle the job.

    Raises:
        InvalidProgramError: If what it refers to is not here.
    """
    try:
        job: SlotJob = pickle.loads(data)
    except (ImportError, AttributeError, SyntaxError, pickle.UnpicklingError) as error:
        raise InvalidProgramError(
            f"the program cannot be loaded on {socket.gethostname()}: {type(error).__name__}: {error}. What its "
            f"functions import must be installed for {sys.executable} there, or be shipped with env.add_python_file(…)"
        ) from error
    return job


def _detach() -> None:
    """Go on in a child that belongs to nobody, so that whoever started this process can wait for it."""
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _dispatcher(slot: Slot, failed: Callable[[BaseException], None]) -> Callable[[m.ToSlot], None]:
    def handle(order: m.ToSlot) -> None:
        try:
            match order:
                case m.BeginEpoch():
                    slot.begin_epoch(order)
                case m.EndEpoch():
                    slot.end_epoch(order)
                case m.TriggerSnapshot():
                    slot.snapshot(order)
                case m.NotifyComplete():
                    slot.notify_complete(order)
                case m.NotifyAborted():
                    slot.notify_aborted(order)
                case m.CommitFinal():
                    slot.commit_final()
                case m.AskMetrics():
                    slot.report_metrics(order)
                case m.Shutdown():
                    slot.close(order.job_over)
                    sys.stdout.flush()
                    os._exit(0)
        except Exception as error:
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
