"""A port at which queries are answered: by clients at a proxy, by proxies at a state server.

Whoever connects has to prove a secret first (:class:`rekindle.runtime.wire.listener.Listener`). Then a few network
threads read the requests of all peers, without waiting for any of them. They see to small ones themselves, which takes
less time than to wake another thread; query threads see to large ones.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

from rekindle.exceptions import ConfigurationError, QueryableStateError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.network_thread import NetworkThread, Peer
from rekindle.runtime.wire.limited_warnings import LimitedWarnings
from rekindle.runtime.wire.listener import Listener

log = logging.getLogger(__name__)

_SMALL = 1 << 12  # bytes of a request that is seen to where it was read
_PEERS = 512
_SECONDS = 10.0  # for a request to arrive as a whole, and for an answer to be fetched
_BACKLOG = 128

Reply = Callable[[p.Answer | p.Failure], None]
"""Answers a query; called once, by any thread."""

Handle = Callable[[p.Query, Reply], None]
"""Sees to a query: lets it be answered sooner or later, or raises."""


class QueryPort:
    """Answer queries.

    Attributes:
        port: Where.

    Args:
        listening: The socket, which listens already. It is closed here.
        secret: What peers have to know.
        name: Names the port in the log, and the threads.
        handle: Sees to a query, without waiting for anything.
        network_threads: How many threads read requests.
        query_threads: How many threads see to large ones.
        seconds: How long a request may take to arrive, and an answer to be fetched.
    """

    def __init__(
        self,
        listening: socket.socket,
        secret: bytes,
        name: str,
        handle: Handle,
        network_threads: int = 1,
        query_threads: int = 1,
        seconds: float = _SECONDS,
    ) -> None:
        self.port: int = listening.getsockname()[1]
        self._handle = handle
        self._warnings = LimitedWarnings(name, log)
        self._queries = ThreadPoolExecutor(query_threads, thread_name_prefix=f"{name} query")
        self._loops = [
            NetworkThread(f"{name} network", self._receive, self._warnings, seconds) for _ in range(network_threads)
        ]
        self._next = cycle(self._loops)
        self._listener = Listener(listening, secret, name, self._welcome)

    def close(self) -> None:
        """Answer nobody any more."""
        self._listener.close()
        for loop in self._loops:
            loop.close()
        self._queries.shutdown(wait=False, cancel_futures=True)

    @property
    def peers(self) -> int:
        """Count the connections."""
        return sum(loop.peers for loop in self._loops)

    def _welcome(self, sock: socket.socket, first: bytes) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if first != p.HELLO:
                self._warnings.note("a peer speaks another version of the protocol, or another protocol")
                message = f"this is version {p.VERSION} of the protocol of queries: use a client of the same release"
                sock.settimeout(1.0)
                sock.sendall(_failure(0, p.Code.REFUSED, message))
                sock.close()
            elif self.peers >= _PEERS:
                self._warnings.note(f"a peer was turned away: {_PEERS} are connected")
                sock.close()
            else:
                sock.setblocking(False)
                next(self._next).add(Peer(sock))
        except OSError:
            sock.close()

    def _receive(self, peer: Peer, request: int, body: bytes, answered: Callable[[], None]) -> None:
        """Take a request, in a network thread."""

        def reply(answer: p.Answer | p.Failure) -> None:
            peer.send(_framed(request, answer))
            answered()

        if len(body) <= _SMALL:
            self._see_to(body, reply)
            return
        try:
            self._queries.submit(self._see_to, body, reply)
        except RuntimeError:  # the port is being closed
            answered()

    def _see_to(self, body: bytes, reply: Reply) -> None:
        try:
            self._handle(p.decode_query(body), reply)
        except QueryableStateError as error:
            if p.code_of(error) is p.Code.REFUSED:
                self._warnings.note("a malformed or oversized query was refused")
            reply(p.Failure(p.code_of(error), str(error)))
        except Exception as error:
            log.exception("a query could not be answered")
            reply(p.Failure(p.Code.FAILED, f"{type(error).__name__}: {error}"))


def listening_socket(host: str, ports: tuple[int, ...]) -> socket.socket:
    """Listen on the first free port of a range, or on any if none of them is free.

    Raises:
        ConfigurationError: This machine does not have that address.
    """
    for port in (*ports, 0):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(_BACKLOG)
        except OSError as error:
            sock.close()
            if port == 0:
                raise ConfigurationError(
                    f"{socket.gethostname()} cannot answer queries at {host}: {error.strerror or error}. Set "
                    "queryable-state.proxy.bind-address to an address of every machine that has slots, such as 0.0.0.0"
                ) from error
        else:
            return sock
    raise AssertionError("port 0 is any that is free")


def _framed(request: int, answer: p.Answer | p.Failure) -> bytes:
    if isinstance(answer, p.Failure):
        return _failure(request, answer.code, answer.message)
    try:
        body = p.encode(answer)
    except UnicodeError as error:  # in a message
        return _failure(request, p.Code.FAILED, f"the answer cannot be written: {error}")
    if len(body) > p.MAX_ANSWER:
        message = f"the answer has {len(body):,} bytes, more than the {p.MAX_ANSWER:,} allowed: ask for fewer keys"
        return _failure(request, p.Code.REFUSED, message)
    return p.frame(p.FrameType.ANSWER, request, body)


def _failure(request: int, code: p.Code, message: str) -> bytes:
    return p.frame(p.FrameType.FAILURE, request, p.encode(p.Failure(code, message.encode("utf-8", "replace").decode())))
