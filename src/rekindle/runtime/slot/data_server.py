"""Where the forwarders deliver: a socket that takes the frames of Spark tasks and returns what the operators produce.

On Linux it is an abstract Unix socket, which has no file; on other hosts of the cluster, and other systems, TCP.
"""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.wire.framing import END, ERROR, receive_frame, send_frame
from rekindle.runtime.wire.listener import Listener
from rekindle.runtime.wire.messages import decode_open_task

HAS_ABSTRACT_SOCKETS = sys.platform.startswith("linux")

_BACKLOG = 256


class DataServer:
    """Serve the tasks of one slot, a thread per connection.

    Args:
        slot: The slot.
        secret: What forwarders have to know.
        tcp_host: The address on which to listen for those of other machines; None: there are none.
        failed: Is told what a task raised, and gives it in few words.
    """

    def __init__(self, slot: Slot, secret: bytes, tcp_host: str | None, failed: Callable[[BaseException], str]) -> None:
        self._slot = slot
        self._secret = secret
        self._failed = failed
        self._listeners: list[Listener] = []
        self.unix_name = ""
        self.port = 0
        if HAS_ABSTRACT_SOCKETS:
            self.unix_name = f"rekindle-{secrets.token_hex(16)}"
            self._listen(socket.AF_UNIX, "\0" + self.unix_name)
        if tcp_host is not None or not HAS_ABSTRACT_SOCKETS:
            self.port = self._listen(socket.AF_INET, (tcp_host or "127.0.0.1", 0))

    def _listen(self, family: socket.AddressFamily, address: str | tuple[str, int]) -> int:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.bind(address)
        listening.listen(_BACKLOG)
        port = listening.getsockname()[1] if family == socket.AF_INET else 0
        name = f"data port {port}" if port else "data socket"
        self._listeners.append(Listener(listening, self._secret, f"{name} of slot {self._slot.index}", self._serve))
        return port

    def _serve(self, connection: socket.socket, opening: bytes) -> None:
        with connection:
            try:
                self._slot.run_task(
                    decode_open_task(opening),
                    _frames(connection),
                    lambda envelope: _send(connection, envelope),
                )
                _send(connection, (END, 0, b""))
            except _TaskGoneError:
                return  # the Spark task was cancelled or died; the job master learns it from Spark
            except BaseException as error:
                summary = self._failed(error)
                with suppress(_TaskGoneError):  # the job master was told
                    _send(connection, (ERROR, 0, summary.encode()))

    def close(self) -> None:
        """Take no more tasks."""
        for listener in self._listeners:
            listener.close()


class _TaskGoneError(Exception):
    """The connection of a task broke."""


def _frames(connection: socket.socket) -> Iterator[tuple[int, bytearray]]:
    while True:
        try:
            edge, _, payload = receive_frame(connection)
        except (EOFError, OSError) as error:
            raise _TaskGoneError from error
        if edge == END:
            return
        yield edge, payload


def _send(connection: socket.socket, envelope: Envelope) -> None:
    try:
        send_frame(connection, *envelope)
    except OSError as error:
        raise _TaskGoneError from error
