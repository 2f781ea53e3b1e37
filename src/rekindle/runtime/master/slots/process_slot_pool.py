"""Slots that are processes of their own and call the job master: what all clusters of machines have in common."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from rekindle.base.process_identity import process_runs, start_ticks
from rekindle.runtime.master.slots.control_server import ControlServer
from rekindle.runtime.master.slots.slot_pool import SlotListener, SlotPoolOptions
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.wire import messages as m

_KILLED_SECONDS = 10.0  # how long a process may take to be gone, at the most, after SIGKILL


class ProcessSlotPool:
    """Keep in touch with slot processes, see :class:`rekindle.runtime.master.slots.slot_pool.SlotPool`.

    Args:
        host: The address of this machine at which slots call.
        options: How to keep in touch.
        listen_tcp: Whether slots are reached from other machines, too.
        start: Starts so many slots, and returns when all have registered; the deployment names none of them.
        cancel: Starts no more of them.
    """

    def __init__(
        self,
        host: str,
        options: SlotPoolOptions,
        listen_tcp: bool,
        start: Callable[[SlotDeployment, int], None],
        cancel: Callable[[SlotDeployment], None],
    ) -> None:
        self._host = host
        self._options = options
        self._listen_tcp = listen_tcp
        self._start = start
        self._cancel = cancel
        self._launched: dict[int, SlotDeployment] = {}
        self._server = ControlServer(
            host, options.port, options.secret, options.heartbeat_ms, options.heartbeat_timeout_ms
        )

    def launch(self, attempt: int, job: bytes, slots: int) -> None:
        """Start all slots of an attempt."""
        deployment = self._launched[attempt] = SlotDeployment(
            attempt=attempt,
            slot=-1,
            secret=self._options.secret,
            master_host=self._host,
            master_port=self._server.port,
            listen_tcp=self._listen_tcp,
            sys_path=user_sys_path(),
            heartbeat_ms=self._options.heartbeat_ms,
            orphan_timeout_ms=self._options.orphan_timeout_ms,
            job=job,
        )
        self._server.expect(attempt)
        try:
            self._start(deployment, slots)
        finally:
            self._launched.pop(attempt, None)

    def cancel_launch(self, attempt: int) -> None:
        """Start no more slots of an attempt."""
        deployment = self._launched.get(attempt)
        if deployment is not None:
            self._cancel(deployment)

    def begin_attempt(self, attempt: int, listener: SlotListener) -> None:
        """Hear slots of this attempt from now on, and of no other."""
        self._server.begin_attempt(attempt, listener)

    def registered(self) -> dict[int, m.Register]:
        """Return the slots that are connected."""
        return {slot: connection.registration for slot, connection in self._server.connections().items()}

    def broadcast(self, message: m.ToSlot) -> None:
        """Send a message to every slot."""
        self._server.broadcast(message)

    def hang_up(self) -> None:
        """Cut the connections of the current attempt; slots of this machine that are still there are killed.

        Those are gone when this returns: what one of them was writing is not written then.
        """
        here = socket.gethostname()
        killed = []
        for connection in self._server.hang_up():
            pid = connection.registration.pid
            if connection.registration.host == here and (started := start_ticks(pid)) is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append((pid, started))
        until = time.monotonic() + _KILLED_SECONDS
        while any(process_runs(*process) for process in killed) and time.monotonic() < until:
            time.sleep(0.01)

    def close(self) -> None:
        """Stop listening: slots end by that."""
        self._server.close()


def user_sys_path() -> list[str]:
    """Return the directories from which the driver imports user code; a slot has its own Python and its packages."""
    own = tuple({os.path.realpath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)})
    paths = [os.path.abspath(entry or os.getcwd()) for entry in sys.path]
    return [path for path in paths if not (os.path.realpath(path) + os.sep).startswith(own) and os.path.exists(path)]
