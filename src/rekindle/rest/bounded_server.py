"""uvicorn's server with an accept loop of its own, which holds few connections and outlives a want of descriptors.

asyncio's loop accepts without limit. Where it finds no descriptor it tries many times at once, logs each of these tries
with a traceback, and sets a timer for each: tens of thousands of lines within a minute.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from operator import itemgetter
from typing import Any

import uvicorn

from rekindle.rest.connection import Connection
from rekindle.runtime.wire.troubles import Troubles

log = logging.getLogger(__name__)

_PAUSE = 0.1


class BoundedServer(uvicorn.Server):
    """Serve so many connections at a time: with one more, the one that has been idle for longest has to go.

    Args:
        config: uvicorn's settings; its protocol is ``Connection``.
        most: How many connections there may be.
    """

    def __init__(self, config: uvicorn.Config, most: int) -> None:
        super().__init__(config)
        self._most = most
        self._troubles = Troubles("REST interface", log)
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections on sockets that listen."""
        await super().startup(sockets=[])
        for listening in sockets or ():
            listening.setblocking(False)
            self._accepting.append(asyncio.create_task(self._accept_all(listening)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and end."""
        for task in self._accepting:
            task.cancel()
        await super().shutdown(sockets)

    async def _accept_all(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except ConnectionAbortedError:
                continue  # the client was gone before its turn came
            except OSError as error:
                what = errno.errorcode.get(error.errno or 0, "")
                self._troubles.note(f"a connection could not be accepted ({what}: {error.strerror}); it is tried again")
                self._drop_longest_idle()
                await asyncio.sleep(_PAUSE)
                continue
            if len(self.server_state.connections) >= self._most:
                self._troubles.note(f"an idle connection was dropped: there are {self._most}, and one more came")
                self._drop_longest_idle()
            try:
                await loop.connect_accepted_socket(self._new_connection, accepted)
            except Exception as error:
                accepted.close()
                self._troubles.note(f"a connection could not be served ({type(error).__name__})")

    def _new_connection(self) -> asyncio.Protocol:
        protocol: Any = self.config.http_protocol_class
        connection: asyncio.Protocol = protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return connection

    def _drop_longest_idle(self) -> None:
        connections = [each for each in self.server_state.connections if isinstance(each, Connection)]
        idle = [(each.idle_until, each.transport) for each in connections if each.idle_until is not None]
        idle = [(until, transport) for until, transport in idle if not transport.is_closing()]
        if idle:
            min(idle, key=itemgetter(0))[1].abort()
