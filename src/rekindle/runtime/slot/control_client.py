"""The slot's connection to the job master: orders come in, reports and heartbeats go out.

A slot whose job master is gone ends itself: when the connection closes, or when no heartbeat came for too long.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable

from rekindle.exceptions import SlotLostError, SlotProtocolError
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.call import call
from rekindle.runtime.wire.framing import MESSAGE, receive_frame, send_frame

_CONNECT_SECONDS = 10.0
_GRACE_SECONDS = 5.0


class ControlClient:
    """Speak with the job master, which has taken the slot as one of the attempt's.

    Raises:
        SlotLostError: The job master cannot be reached, or does not want this slot.
    """

    def __init__(self, deployment: SlotDeployment) -> None:
        self._socket, first = _registered(deployment)
        self._sending = threading.Lock()
        self._heartbeat = deployment.heartbeat_ms / 1000
        self._orphan_timeout = deployment.orphan_timeout_ms / 1000
        self._heard = time.monotonic()
        self._gone = threading.Event()
        self._orders: queue.SimpleQueue[m.ToSlot | None] = queue.SimpleQueue()
        self._take(first)
        self.at_exit: Callable[[], None] = lambda: None  # done when the slot ends itself
        for target in (self._beat, self._watch, self._read):
            threading.Thread(target=target, daemon=True, name=f"control-{target.__name__}").start()

    @property
    def own_host(self) -> str:
        """Return the address of this machine as the job master sees it."""
        host: str = self._socket.getsockname()[0]
        return host

    def send(self, message: m.ToMaster) -> None:
        """Send a message; from any thread."""
        data = m.encode(message)
        with self._sending:
            send_frame(self._socket, MESSAGE, 0, data)

    def opening_order(self) -> m.OpenJob | None:
        """Wait to be told what to open; None: the job master is gone, or needs no slot any more.

        A slot that is started ahead of its attempt is asked for its metrics like all others, as soon as the attempt has
        begun. It has none yet, and does not answer.
        """
        while isinstance(order := self._orders.get(), m.AskMetrics):
            pass
        if order is None or isinstance(order, m.OpenJob | m.Shutdown):
            return order if isinstance(order, m.OpenJob) else None
        raise SlotProtocolError(f"the job master sent {type(order).__name__} before it sent OpenJob")

    def receive_all(self, handle: Callable[[m.ToSlot], None]) -> None:
        """Handle orders one after the other until the job master is gone."""
        while (order := self._orders.get()) is not None:
            handle(order)

    def _read(self) -> None:
        """Take orders from the beginning: a long restore, or a long order, must not make the slot an orphan."""
        while True:
            try:
                order = m.decode_to_slot(receive_frame(self._socket, progress=self._hear)[2])
            except (OSError, EOFError):
                break
            self._take(order)
        self._gone.set()
        self._orders.put(None)
        time.sleep(_GRACE_SECONDS)  # for an order under way; user code that hangs does not keep the slot alive
        self._exit()

    def _take(self, order: m.ToSlot) -> None:
        if not isinstance(order, m.Heartbeat):
            self._orders.put(order)

    def _hear(self) -> None:
        self._heard = time.monotonic()

    def _beat(self) -> None:
        """Send heartbeats; that may wait for the job master to read."""
        while not self._gone.wait(self._heartbeat):
            try:
                self.send(m.Heartbeat())
            except OSError:
                return  # the reading thread sees the end, too

    def _watch(self) -> None:
        """End the slot when nothing comes any more, whatever waits for being sent."""
        while not self._gone.wait(self._heartbeat):
            silence = time.monotonic() - self._heard
            if silence > self._orphan_timeout:
                print(f"nothing heard from the job master for {silence:.0f} s: this slot ends", file=sys.__stderr__)
                self._exit()

    def _exit(self) -> None:
        try:
            self.at_exit()
        finally:
            os._exit(1)


def _registered(deployment: SlotDeployment) -> tuple[socket.socket, m.ToSlot]:
    """Call the job master, and wait until it has taken the slot; return what it says first.

    That is a heartbeat, or an order that another of its threads has sent before: once a slot is known, it gets orders.
    """
    address = (deployment.master_host, deployment.master_port)
    where = f"the job master at {address[0]}:{address[1]}"
    registration = m.Register(deployment.attempt, deployment.slot, os.getpid(), socket.gethostname())
    try:
        sock = call(lambda: _dialled(address), deployment.secret, m.encode(registration))
        try:
            sock.settimeout(_CONNECT_SECONDS)
            first = m.decode_to_slot(receive_frame(sock)[2])
            sock.settimeout(None)
        except BaseException:
            sock.close()
            raise
    except EOFError as error:
        raise SlotLostError(f"{where} hung up: it does not know this slot, or its attempt is over") from error
    except (OSError, SlotProtocolError) as error:
        raise SlotLostError(f"{where} cannot be reached: {error}") from error
    return sock, first


def _dialled(address: tuple[str, int]) -> socket.socket:
    sock = socket.create_connection(address, timeout=_CONNECT_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
