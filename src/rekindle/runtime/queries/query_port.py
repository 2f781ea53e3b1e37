"""A port at which queries are answered: by clients at a proxy, by proxies at a state server.

Whoever connects has to prove a secret first (:class:`rekindle.runtime.wire.listener.Listener`). Then a few network
threads read the requests of all peers, without waiting for any of them. They see to small ones themselves, which takes
less time than to wake another thread; query threads see to large ones. What a peer can take up is bounded: its requests
under way, the bytes of each, the time for sending one, the answers that it does not fetch.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle

from rekindle.exceptions import ConfigurationError, QueryableStateError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.wire.limited_warnings import LimitedWarnings
from rekindle.runtime.wire.listener import Listener

log = logging.getLogger(__name__)

_READ = 1 << 16
_SMALL = 1 << 12  # bytes of a request that is seen to where it was read
_UNDER_WAY = 64  # requests of one peer; more are read when some have been answered
_PEERS = 512
_SECONDS = 10.0  # for a request to arrive as a whole, and for an answer to be fetched
_ENDING_SECONDS = 5.0
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


class Peer:
    """A connection whose peer has proven the secret. Answers are sent by any thread."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.received = bytearray()
        self.receiving_since: float | None = None  # when the first bytes of an unfinished request came
        self.under_way = 0
        self.closed = False
        self.wants_write: Callable[[], None] = lambda: None
        self.unsent: deque[memoryview] = deque()
        self.unsent_since = 0.0
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        """Send an answer, or as much of it as the peer takes at once; the network thread sends the rest."""
        with self._lock:
            if self.closed:
                return
            waiting = bool(self.unsent)
            self.unsent.append(memoryview(data))
            if waiting:
                return
            self.unsent_since = time.monotonic()
            done = self._flush()
        if not done:
            self.wants_write()

    def begun(self) -> None:
        """Count a request that is under way."""
        with self._lock:
            self.under_way += 1

    def ended(self) -> bool:
        """Count a request that was answered; return whether others have waited for that."""
        with self._lock:
            self.under_way -= 1
            return self.under_way == _UNDER_WAY - 1

    def flush(self) -> bool:
        """Send what is waiting; return whether nothing is left."""
        with self._lock:
            return self._flush()

    def _flush(self) -> bool:
        while self.unsent:
            try:
                sent = self.socket.send(self.unsent[0])
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                self.unsent.clear()  # the network thread sees that the peer is gone
                return True
            self.unsent_since = time.monotonic()
            if sent == len(self.unsent[0]):
                self.unsent.popleft()
            else:
                self.unsent[0] = self.unsent[0][sent:]
        return True

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self.closed = True
            self.unsent.clear()
        self.socket.close()


class NetworkThread:
    """Read the requests of some peers, in one thread."""

    def __init__(
        self,
        name: str,
        receive: Callable[[Peer, int, bytes, Callable[[], None]], None],
        warnings: LimitedWarnings,
        seconds: float,
    ) -> None:
        self._receive = receive
        self._warnings = warnings
        self._seconds = seconds
        self._peers: set[Peer] = set()
        self._orders: deque[Callable[[], None]] = deque()  # of other threads, for this one
        self._closed = False
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)
        self._thread.start()

    @property
    def peers(self) -> int:
        """Count the peers."""
        return len(self._peers)

    def add(self, peer: Peer) -> None:
        """Read what a peer asks."""
        peer.wants_write = lambda: self._order(lambda: self._watch(peer))
        self._order(lambda: self._add(peer))

    def close(self) -> None:
        """Hang up on all peers."""
        self._closed = True
        self._order(lambda: None)
        if self._thread is not threading.current_thread():
            self._thread.join(_ENDING_SECONDS)

    def _order(self, what: Callable[[], None]) -> None:
        self._orders.append(what)
        if self._thread is not threading.current_thread():  # it looks for orders before it waits
            with suppress(OSError):
                self._wake.send(b".")

    # --- the thread ---

    def _run(self) -> None:
        try:
            while not self._closed:
                for key, events in self._selector.select(1.0 if self._peers else None):
                    if key.data is None:
                        with suppress(OSError):
                            self._woken.recv(_READ)
                    elif key.data in self._peers:
                        self._serve(key.data, events)
                while self._orders:
                    self._orders.popleft()()
                self._expire()
        finally:
            for peer in list(self._peers):
                self._drop(peer)
            while self._orders:  # peers that came too late
                self._orders.popleft()()
            for peer in list(self._peers):
                self._drop(peer)
            self._selector.close()
            self._wake.close()
            self._woken.close()

    def _add(self, peer: Peer) -> None:
        self._peers.add(peer)
        try:
            self._selector.register(peer.socket, selectors.EVENT_READ, peer)
        except (OSError, ValueError):
            self._drop(peer)

    def _serve(self, peer: Peer, events: int) -> None:
        if events & selectors.EVENT_WRITE and peer.flush():
            self._watch(peer)
        if events & selectors.EVENT_READ:
            try:
                data = peer.socket.recv(_READ)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            if not data:
                self._drop(peer)
                return
            peer.received += data
            self._take_requests(peer)

    def _take_requests(self, peer: Peer) -> None:
        try:
            while requests := requests_in(peer.received, _UNDER_WAY - peer.under_way):
                peer.receiving_since = None
                for request, body in requests:
                    peer.begun()
                    self._receive(peer, request, body, lambda: self._answered(peer))
        except p.MalformedFrameError as error:
            self._drop(peer, f"a peer was dropped: {error}")
            return
        if peer.received and peer.under_way < _UNDER_WAY:
            peer.receiving_since = peer.receiving_since or time.monotonic()
        else:
            peer.receiving_since = None
        self._watch(peer)

    def _answered(self, peer: Peer) -> None:
        """Learn, from any thread, that a request was answered."""
        if peer.ended():
            self._order(lambda: self._take_more(peer))

    def _take_more(self, peer: Peer) -> None:
        if peer in self._peers:
            self._take_requests(peer)

    def _watch(self, peer: Peer) -> None:
        """Wait for what can happen next on a connection."""
        if peer not in self._peers:
            return
        events = 0
        if peer.under_way < _UNDER_WAY:
            events |= selectors.EVENT_READ
        if peer.unsent:
            events |= selectors.EVENT_WRITE
        try:
            known = self._selector.get_map().get(peer.socket)
            if known is None and events:
                self._selector.register(peer.socket, events, peer)
            elif known is not None and not events:
                self._selector.unregister(peer.socket)
            elif known is not None and known.events != events:
                self._selector.modify(peer.socket, events, peer)
        except (OSError, ValueError, KeyError):
            self._drop(peer)

    def _expire(self) -> None:
        late = time.monotonic() - self._seconds
        for peer in list(self._peers):
            if peer.receiving_since is not None and peer.receiving_since < late:
                self._drop(peer, f"a peer was dropped: its request did not arrive within {self._seconds:g} s")
            elif peer.unsent and peer.unsent_since < late:
                self._drop(peer, f"a peer was dropped: it did not fetch its answers within {self._seconds:g} s")

    def _drop(self, peer: Peer, why: str | None = None) -> None:
        if why is not None:
            self._warnings.note(why)
        self._peers.discard(peer)
        with suppress(KeyError, ValueError):
            self._selector.unregister(peer.socket)
        peer.close()


def requests_in(received: bytearray, most: int) -> list[tuple[int, bytes]]:
    """Take the whole requests out of what was received: their numbers and bodies. Pure, but for its argument.

    Args:
        received: What was received; the beginning of another request stays in it.
        most: How many to take.

    Raises:
        MalformedFrameError: There is something else in it.
    """
    found: list[tuple[int, bytes]] = []
    at = 0
    while len(found) < most and len(received) - at >= p.HEADER.size:
        kind, request, length = p.read_header(memoryview(received)[at : at + p.HEADER.size], p.MAX_REQUEST)
        if kind is not p.FrameType.REQUEST:
            raise p.MalformedFrameError("an answer came where a request was expected")
        end = at + p.HEADER.size + length
        if len(received) < end:
            break
        found.append((request, bytes(memoryview(received)[at + p.HEADER.size : end])))
        at = end
    del received[:at]
    return found


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
    body = p.encode(answer)
    if len(body) > p.MAX_ANSWER:
        message = f"the answer has {len(body):,} bytes, more than the {p.MAX_ANSWER:,} allowed: ask for fewer keys"
        return _failure(request, p.Code.REFUSED, message)
    return p.frame(p.FrameType.ANSWER, request, body)


def _failure(request: int, code: p.Code, message: str) -> bytes:
    return p.frame(p.FrameType.FAILURE, request, p.encode(p.Failure(code, message.encode("utf-8", "replace").decode())))
