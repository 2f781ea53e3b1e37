"""The listening side of a handshake on a connection that a test holds itself."""

from __future__ import annotations

import socket

from rekindle.runtime.wire.framing import receive_exactly
from rekindle.runtime.wire.handshake import introduction


def accept(sock: socket.socket, secret: bytes) -> None:
    """Let a peer prove the secret; its first message is not read."""
    steps = introduction(secret)
    greeting, wanted = next(steps)
    sock.sendall(greeting)
    answer, _ = steps.send(bytes(receive_exactly(sock, wanted)))
    sock.sendall(answer)
