"""A port that strangers cannot wear out: everybody may connect, and only who proves the job's secret is served.

One thread accepts connections and leads all introductions, without ever waiting for a single peer. A peer has some
seconds for the whole of its introduction, however it spreads its bytes over them. There are only so many peers at a
time that have proven nothing: with one more, the one that came first has to go. So a flood of connections takes a
bounded number of descriptors, no threads, and never the place of a peer that knows the secret.
"""

from __future__ import annotations

import errno
import logging
import os
import resource
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.wire.handshake import introduction
from rekindle.runtime.wire.limited_warnings import LimitedWarnings

log = logging.getLogger(__name__)

_SECONDS = 10.0  # for an introduction as a whole
_STRANGERS = 64
_SHARE = 16  # of all descriptors of the process, strangers get one in so many
_AT_ONCE = 32  # connections accepted before those that are there have their turn
_PAUSE = 0.1  # before the next try, when there was no descriptor for a connection
_ENDING_SECONDS = 5.0
_ALWAYS_HEARD = (0,)  # root
_CREDENTIALS = struct.Struct("3i")  # process, user, group

Serve = Callable[[socket.socket, bytes], None]
"""Speaks with a peer that has introduced itself, in a thread of its own: is given the socket and the first message."""


class Listener:
    """Accept connections, and serve the peers that prove the secret.

    Args:
        listening: The socket, which listens already. It is closed here.
        secret: What peers have to know.
        name: Names the port in the log, and the threads.
        serve: Serves a peer, and closes its socket.
        seconds: How long an introduction may take.
        strangers: How many peers may be there at a time that have proven nothing; None: what the process can spare.
    """

    def __init__(
        self,
        listening: socket.socket,
        secret: bytes,
        name: str,
        serve: Serve,
        *,
        seconds: float = _SECONDS,
        strangers: int | None = None,
    ) -> None:
        self._listening = listening
        self._secret = secret
        self._name = name
        self._serve = serve
        self._seconds = seconds
        self._most = _spare_descriptors() if strangers is None else strangers
        self._warnings = LimitedWarnings(name, log)
        self._peers: dict[socket.socket, _Peer] = {}  # in the order in which they came
        self._paused_until: float | None = None
        self._closed = False
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        listening.setblocking(False)
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"{name} listener")
        self._thread.start()

    def close(self) -> None:
        """Take nobody any more; whoever is being served stays."""
        self._closed = True
        with suppress(OSError):
            self._wake.send(b".")
        self._thread.join(_ENDING_SECONDS)

    # --- the thread ---

    def _run(self) -> None:
        try:
            while not self._closed:
                for key, _ in self._selector.select(self._until_something_is_due()):
                    if key.fileobj is self._listening:
                        self._accept()
                    elif isinstance(key.data, _Peer) and key.data.socket in self._peers:
                        self._hear(key.data)
                self._expire()
        finally:
            for peer in list(self._peers.values()):
                self._drop(peer)
            self._selector.close()
            for each in (self._listening, self._wake, self._woken):
                each.close()

    def _until_something_is_due(self) -> float | None:
        dues = [peer.until for peer in islice(self._peers.values(), 1)]  # the one that came first
        if self._paused_until is not None:
            dues.append(self._paused_until)
        return max(0.0, min(dues) - time.monotonic()) if dues else None

    def _expire(self) -> None:
        now = time.monotonic()
        for peer in list(self._peers.values()):
            if peer.until > now:
                break
            self._drop(peer, f"a peer did not introduce itself within {self._seconds:g} s")
        if self._paused_until is not None and self._paused_until <= now:
            self._paused_until = None
            self._selector.register(self._listening, selectors.EVENT_READ)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                sock, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue  # the peer was gone before its turn came
            except OSError as error:
                self._pause(error)
                return
            if _may_call(sock):
                self._welcome(sock)
            else:
                self._warnings.note("a process of another user called, and was turned away")
                sock.close()

    def _pause(self, error: OSError) -> None:
        """Make room and wait a moment: there will be descriptors again, and who has called waits until then."""
        what = errno.errorcode.get(error.errno or 0, "")
        self._warnings.note(f"a connection could not be accepted ({what}: {error.strerror}); trying again")
        self._drop_oldest_stranger("an unauthenticated peer was dropped to free its descriptor")
        self._selector.unregister(self._listening)
        self._paused_until = time.monotonic() + _PAUSE

    def _welcome(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        peer = _Peer(sock, self._secret, time.monotonic() + self._seconds)
        if sum(not each.proven for each in self._peers.values()) >= self._most:
            self._drop_oldest_stranger(f"a peer was dropped: {self._most} others were not authenticated either")
        self._peers[sock] = peer
        try:
            self._selector.register(sock, selectors.EVENT_READ, peer)
            peer.begin()
        except OSError:
            self._drop(peer, "a peer was gone before it introduced itself")

    def _hear(self, peer: _Peer) -> None:
        try:
            first = peer.receive()
        except (OSError, EOFError):
            self._drop(peer, "a peer was gone before it introduced itself")
        except SlotProtocolError:
            self._drop(peer, "a peer did not know the job's secret, and was turned away")
        else:
            if first is not None:
                self._hand_over(peer, first)

    def _hand_over(self, peer: _Peer, first: bytes) -> None:
        self._selector.unregister(peer.socket)
        del self._peers[peer.socket]
        peer.socket.setblocking(True)
        try:
            threading.Thread(target=self._serve, args=(peer.socket, first), daemon=True, name=self._name).start()
        except RuntimeError as error:
            peer.socket.close()
            self._warnings.note(f"a peer could not be served: {error}")

    def _drop_oldest_stranger(self, why: str) -> None:
        stranger = next((peer for peer in self._peers.values() if not peer.proven), None)
        if stranger is not None:
            self._drop(stranger, why)

    def _drop(self, peer: _Peer, why: str | None = None) -> None:
        if why is not None:
            self._warnings.note(why)
        del self._peers[peer.socket]
        with suppress(KeyError, ValueError):
            self._selector.unregister(peer.socket)
        peer.socket.close()


class _Peer:
    """Hold a connection until its peer has introduced itself."""

    def __init__(self, sock: socket.socket, secret: bytes, until: float) -> None:
        self.socket = sock
        self.until = until
        self.proven = False
        self._introduction = introduction(secret)
        self._wanted = 0
        self._received = b""

    def begin(self) -> None:
        """Speak first."""
        self._say(next(self._introduction))

    def receive(self) -> bytes | None:
        """Read what has come, and nothing that belongs to whoever serves the peer; give the first message."""
        while True:
            try:
                data = self.socket.recv(self._wanted - len(self._received))
            except (BlockingIOError, InterruptedError):
                return None
            if not data:
                raise EOFError("the peer closed the connection")
            self._received += data
            if len(self._received) == self._wanted:
                received, self._received = self._received, b""
                try:
                    self._say(self._introduction.send(received))
                except StopIteration as end:
                    first: bytes = end.value
                    return first
                self.proven = True

    def _say(self, step: tuple[bytes, int]) -> None:
        data, self._wanted = step
        if data and self.socket.send(data) != len(data):  # a few bytes into an empty buffer
            raise ConnectionError("the peer takes nothing")


def _may_call(sock: socket.socket) -> bool:
    """Return whether a peer's process may call at all: through a Unix socket, those of the same user, and of root."""
    if sock.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return user in (os.geteuid(), *_ALWAYS_HEARD)


def _spare_descriptors() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _STRANGERS if limit == resource.RLIM_INFINITY else max(1, min(_STRANGERS, limit // _SHARE))
