"""The connections to the server: a bounded number, and none that is kept open without asking anything.

uvicorn closes a connection that is silent after a response, but waits without limit for the first request, and for the
rest of a head that comes bit by bit. asyncio accepts without limit, and logs a traceback each time it lacks a
descriptor. So the server listens on a socket that tells of the connections it accepts, and they of their end; ASGI
tells that the head of a request has come and that its response has ended. A connection is ended by shutting its socket
down: to asyncio, the client has hung up.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from rekindle.rest.messages import RequestError, refusal
from rekindle.rest.protection import PROBE
from rekindle.runtime.wire.limited_warnings import LimitedWarnings

log = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_TOO_MANY = RequestError(503, "Too many requests at a time. Try again later.", {"Connection": "close"})

Ends = tuple[tuple[str, int], tuple[str, int]]
"""The addresses of the client and of the server, by which a connection is known both to its socket and to ASGI."""


class _Listening(socket.socket):
    """A listening socket."""

    accepted: Callable[[_Connection, Ends], None]

    def accept(self) -> tuple[socket.socket, Any]:
        plain, client = super().accept()
        connection = _Connection(plain.family, plain.type, plain.proto, fileno=plain.detach())
        self.accepted(connection, (client[:2], connection.getsockname()[:2]))
        return connection, client


class _Connection(socket.socket):
    """The socket of a connection."""

    closed: Callable[[], None] | None = None

    def close(self) -> None:
        if self.closed is not None:
            self.closed()
        super().close()


class Connections:
    """Watch connections: with one too many, the one that has been idle for longest has to go.

    A connection is idle until the head of a request has come, and again when its response has ended. It is closed
    after ``HEAD_SECONDS`` of that. Whether the process is alive is answered on any.

    Args:
        most: How many connections there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._warnings = LimitedWarnings("REST interface", log)
        self._open: dict[Ends, socket.socket] = {}
        self._idle: dict[Ends, asyncio.TimerHandle] = {}  # the one that has been idle for longest comes first

    def listening(self, plain: socket.socket) -> socket.socket:
        """Return a socket that listens in place of another, and whose connections are known here."""
        listening = _Listening(plain.family, plain.type, plain.proto, fileno=plain.detach())
        listening.accepted = self._opened
        return listening

    def watched(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose requests are known here."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            ends = scope["client"], scope["server"]
            self._end_idleness(ends)
            try:
                served = app if len(self._open) <= self._most or scope["raw_path"] == PROBE else refusal(_TOO_MANY)
                await served(scope, receive, send)
            finally:
                self._begin_idleness(ends)

        return serve

    def handle_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error of the event loop: where it cannot accept, all idle connections go. It tries again."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _OUT_OF_RESOURCES):
            loop.default_exception_handler(context)
            return
        what = f"{errno.errorcode[error.errno]}: {error.strerror}"
        self._warnings.note(f"a connection could not be accepted ({what}); trying again")
        while self._idle:
            self._drop_longest_idle()

    def _opened(self, connection: _Connection, ends: Ends) -> None:
        connection.closed = partial(self._closed, ends)
        if len(self._open) >= self._most and self._idle:
            self._warnings.note(f"an idle connection was dropped: there were {self._most}, and one more arrived")
            self._drop_longest_idle()
        self._open[ends] = connection
        self._begin_idleness(ends)

    def _closed(self, ends: Ends) -> None:
        self._open.pop(ends, None)
        self._end_idleness(ends)

    def _begin_idleness(self, ends: Ends) -> None:
        self._end_idleness(ends)
        connection = self._open.get(ends)
        if connection is not None:
            self._idle[ends] = asyncio.get_running_loop().call_later(HEAD_SECONDS, _hang_up, connection)

    def _end_idleness(self, ends: Ends) -> None:
        deadline = self._idle.pop(ends, None)
        if deadline is not None:
            deadline.cancel()

    def _drop_longest_idle(self) -> None:
        ends = next(iter(self._idle))
        _hang_up(self._open[ends])
        self._closed(ends)


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)
