"""The server of the REST interface: uvicorn in a thread of the driver, with an event loop of its own.

Nothing here may hold up the program: what is imported is imported in that thread, and a server that cannot start is
a line in the log. When the process ends, so does the server, and the file by which it is found goes away.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rekindle.base.loopback import is_loopback
from rekindle.base.process_identity import start_ticks
from rekindle.exceptions import ConfigurationError
from rekindle.rest.discovery import Endpoint, dashboard_address, publish, withdraw
from rekindle.rest.settings import RestSettings

if TYPE_CHECKING:
    import uvicorn
    from starlette.routing import Route

    from rekindle.rest.connections import Connections
    from rekindle.rest.messages import Handler

log = logging.getLogger(__name__)

_MAX_CONNECTIONS = 64
_BACKLOG = 64  # connections that wait to be accepted; as many may be accepted before those that have to go are gone
_KEEP_ALIVE_SECONDS = 5
_STOP_SECONDS = 2.0
_LINGER_SECONDS = 5.0
_STEP_SECONDS = 0.5


class Api(Protocol):
    """Answer requests."""

    @property
    def handlers(self) -> Sequence[tuple[str, str, Handler]]:
        """Return the method, path and handler of each kind of request."""

    @property
    def routes(self) -> Sequence[Route]:
        """Return what needs no thread."""

    def linger(self, seconds: float) -> None:
        """Wait for those who still have an answer to fetch."""


class RestServer:
    """Serve requests until the process ends.

    Attributes:
        url: Where it listens; None: it does not.
        dashboard: The address to open in a browser: with the token, if that is nobody else's.

    Args:
        settings: Where to listen, and who may ask.
        make_api: Makes what answers requests; called in the server's thread, where it may import what it needs.
        tell: Is told the address to open in a browser, once, when the server listens.
        found: Whether commands on this machine are to find it.
    """

    def __init__(
        self,
        settings: RestSettings,
        make_api: Callable[[], Api],
        tell: Callable[[str], None] | None = None,
        found: bool = True,
    ) -> None:
        self._tell = tell
        self._found = found
        self._settings = settings
        self._make_api = make_api
        self._api: Api | None = None
        self._pid = os.getpid()
        self._server: uvicorn.Server | None = None
        self._socket: socket.socket | None = None
        self._file: Path | None = None
        self._stopping = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rest-server", daemon=True)
        self.url: str | None = None
        self.dashboard: str | None = None

    def start(self) -> None:
        """Start in the background."""
        atexit.register(self.stop)
        self._thread.start()

    def wait_until_ready(self, timeout: float) -> bool:
        """Wait until the server listens, or has failed to; tell whether it listens."""
        self._ready.wait(timeout)
        return self.url is not None

    def wait(self) -> None:
        """Wait until the server has ended, in steps, so that Ctrl-C is heard."""
        while self._thread.is_alive():
            self._thread.join(_STEP_SECONDS)

    def stop(self) -> None:
        """End the server, remove its file, and wait a moment for its thread."""
        if os.getpid() != self._pid:
            return  # a child that was forked: the server is its parent's
        atexit.unregister(self.stop)
        if self._api is not None and self._thread.is_alive():
            self._api.linger(_LINGER_SECONDS)
        self._stopping = True
        self._withdraw()
        if self._server is not None:
            self._server.should_exit = True
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)
        self._withdraw()

    def forget_in_child(self) -> None:
        """Close this process's copy of the listening socket, after a fork."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()

    def _run(self) -> None:
        try:
            self._serve()
        except Exception:
            log.warning("the REST interface ended; the jobs continue without it", exc_info=True)
        finally:
            self._ready.set()
            self._withdraw()

    def _serve(self) -> None:
        import uvicorn

        from rekindle.rest.app import rest_app
        from rekindle.rest.connections import Connections

        connections = Connections(_MAX_CONNECTIONS)
        self._socket = connections.listening(listen(self._settings.bind_address, self._settings.ports))
        try:
            host = self._socket.getsockname()[0]
            if self._settings.token is None and not is_loopback(host):
                raise ConfigurationError(
                    f"rest.bind-address is {self._settings.bind_address!r}, which here is {host} and can be reached "
                    "from elsewhere: name that address, so that a token is required"
                )
            self._api = self._make_api()
            config = uvicorn.Config(
                connections.watched(rest_app(self._settings, self._api.handlers, routes=self._api.routes)),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # what clients do wrong they are told, and nobody else
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=1,
            )
            self._server = uvicorn.Server(config)
            self._announce(self._socket)
            if not self._stopping:
                asyncio.run(_run(self._server, self._socket, connections))
        finally:
            self._socket.close()

    def _announce(self, listening: socket.socket) -> None:
        """Write down where the server is. It is listening already: who comes early waits until it answers."""
        settings = self._settings
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{_reachable(shown)}:{port}"
        endpoint = Endpoint(
            pid=self._pid,
            start_ticks=start_ticks(self._pid),
            url=url,
            token=settings.token,
            started=round(time.time() * 1000),
        )
        try:
            self._file = publish(endpoint) if self._found else None
        except Exception as error:
            log.warning("the REST interface at %s cannot be found by commands on this machine: %s", url, error)
        self.url = url
        self.dashboard = dashboard_address(url, settings.token if settings.told else None)
        if self._tell is not None:
            self._tell(self.dashboard)
        self._ready.set()
        if not settings.loopback:
            place = self._file or "rest.token"
            log.warning("the REST interface at %s:%d needs a token; it is in %s", shown, port, place)

    def _withdraw(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            withdraw(file)


async def _run(server: uvicorn.Server, listening: socket.socket, connections: Connections) -> None:
    def handle_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if listening.fileno() >= 0:  # else asyncio has tried again to accept, after the end
            connections.handle_error(loop, context)

    asyncio.get_running_loop().set_exception_handler(handle_error)
    await server.serve(sockets=[listening])


def listen(address: str, ports: tuple[int, ...]) -> socket.socket:
    """Listen on the first port that is free, else on any."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in (*ports, 0):
        # Only where the protocol is named does asyncio send small packets at once; else answers take 40 ms.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address.strip("[]"), port))
            sock.listen(_BACKLOG)
            return sock
        except OSError as error:
            sock.close()
            if port == 0:
                raise OSError(f"cannot listen on {address}: {error.strerror or error}") from error
    raise AssertionError("any port was tried")


def _reachable(host: str) -> str:
    """Return an address at which this machine reaches a server that listens on all."""
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
