"""Calls somebody who listens with a ``Listener``: connects, proves the secret, says the first message."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from rekindle.runtime.wire.framing import MESSAGE, send_frame
from rekindle.runtime.wire.handshake import connect

_TRIES = 8
_FIRST_PAUSE = 0.02  # twice as long after every try


def call(dial: Callable[[], socket.socket], secret: bytes, first: bytes) -> socket.socket:
    """Call, and again if the other side hangs up before the secret is proven: strangers may have crowded us out.

    Args:
        dial: Opens a connection; what it raises is raised at once.
        secret: The job's.
        first: The first message; it is sent once at most.

    Raises:
        EOFError: The other side hung up, again and again.
        OSError: It cannot be reached.
        SlotProtocolError: It does not know the secret.
    """
    for number in range(_TRIES):
        sock = dial()
        try:
            try:
                connect(sock, secret)
            except (EOFError, ConnectionError, TimeoutError):
                if number + 1 == _TRIES:
                    raise
            else:
                send_frame(sock, MESSAGE, 0, first)
                return sock
        except BaseException:
            sock.close()
            raise
        sock.close()
        time.sleep(_FIRST_PAUSE * 2**number)
    raise AssertionError("the last try returns or raises")
