"""The connections to the server: a bounded number, and none that is kept open without asking anything.

uvicorn closes a connection that is silent after a response, but waits without limit for the first request, and for the
rest of a head that comes bit by bit. asyncio accepts without limit, and logs a traceback each time it lacks a
descriptor. What is added here needs nothing of uvicorn but what it documents: its ``http`` setting takes a class, of
which only ``asyncio.Protocol``'s ``connection_made`` and ``connection_lost`` are extended, and ASGI tells that the head
of a request has come and that its response has ended.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rekindle.runtime.wire.troubles import Troubles

log = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Ends = tuple[tuple[str, int], tuple[str, int]]
"""The addresses of the client and of the server, by which a connection is known both to asyncio and to ASGI."""


class Connections:
    """Watch connections: with one too many, the one that has been idle for longest has to go.

    A connection is idle until the head of a request has come, and again when its response has ended. It is closed
    after ``HEAD_SECONDS`` of that.

    Args:
        most: How many connections there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._troubles = Troubles("REST interface", log)
        self._open: dict[Ends, asyncio.Transport] = {}
        self._idle: dict[Ends, asyncio.TimerHandle] = {}  # the one that has been idle for longest comes first

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the class that uvicorn is to make for each connection."""
        connections = self

        class Connection(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                self.ends = connections._opened(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections._closed(self.ends)
                super().connection_lost(exc)

        return Connection

    def watched(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose requests are known here."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            ends = scope["client"], scope["server"]
            self._end_idleness(ends)
            try:
                await app(scope, receive, send)
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
        self._troubles.note(f"a connection could not be accepted ({what}); trying again")
        while self._idle:
            self._drop_longest_idle()

    def _opened(self, transport: asyncio.Transport) -> Ends:
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        ends = client[:2], server[:2]
        if len(self._open) >= self._most and self._idle:
            self._troubles.note(f"an idle connection was dropped: there were {self._most}, and one more arrived")
            self._drop_longest_idle()
        self._open[ends] = transport
        self._begin_idleness(ends)
        return ends

    def _closed(self, ends: Ends) -> None:
        self._open.pop(ends, None)
        self._end_idleness(ends)

    def _begin_idleness(self, ends: Ends) -> None:
        self._end_idleness(ends)
        transport = self._open.get(ends)
        if transport is not None:
            self._idle[ends] = asyncio.get_running_loop().call_later(HEAD_SECONDS, transport.close)

    def _end_idleness(self, ends: Ends) -> None:
        deadline = self._idle.pop(ends, None)
        if deadline is not None:
            deadline.cancel()

    def _drop_longest_idle(self) -> None:
        ends = next(iter(self._idle))
        self._open[ends].abort()
        self._closed(ends)
