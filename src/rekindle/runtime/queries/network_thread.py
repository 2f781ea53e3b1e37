"""A thread that reads the requests of many peers, without waiting for any of them.

What a peer can take up is bounded: its requests under way, the bytes of each, the time for sending one, the answers
that it does not fetch.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from rekindle.runtime.queries import protocol as p
from rekindle.runtime.wire.limited_warnings import LimitedWarnings

UNDER_WAY = 64
"""How many requests of one peer may be under way; more are read when some have been answered."""

_READ = 1 << 16
_ENDING_SECONDS = 5.0


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
            return self.under_way == UNDER_WAY - 1

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
            while requests := requests_in(peer.received, UNDER_WAY - peer.under_way):
                peer.receiving_since = None
                for request, body in requests:
                    peer.begun()
                    self._receive(peer, request, body, lambda: self._answered(peer))
        except p.MalformedFrameError as error:
            self._drop(peer, f"a peer was dropped: {error}")
            return
        if peer.received and peer.under_way < UNDER_WAY:
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
        if peer.under_way < UNDER_WAY:
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
