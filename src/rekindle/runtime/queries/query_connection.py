"""A connection to a proxy or a state server, on which many queries may be under way."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from rekindle.exceptions import QueryableStateError, QueryRefusedError, SlotProtocolError, StateServerGoneError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.wire.framing import MESSAGE, receive_exactly, send_frame
from rekindle.runtime.wire.handshake import connect

_SECONDS = 10.0
_SENDING = struct.pack("@ll", 2, 0)  # seconds, microseconds


class QueryConnection:
    """Speak with a proxy or a state server; from any thread.

    Args:
        address: Host and port.
        secret: What is to be proven.
        seconds: How long it may take to connect.
        dialled: Is given the socket before the handshake: who shuts it down ends that.

    Raises:
        StateServerGoneError: Nobody listens there.
        QueryRefusedError: Whoever listens there does not take the secret, or speaks another protocol.
    """

    def __init__(
        self,
        address: tuple[str, int],
        secret: bytes,
        seconds: float = _SECONDS,
        dialled: Callable[[socket.socket], None] = lambda sock: None,
    ) -> None:
        self._where = f"{address[0]}:{address[1]}"
        self._socket = self._connected(address, secret, seconds, dialled)
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[p.Answer]] = {}
        self._gone: Exception | None = None
        self._thread = threading.Thread(target=self._read, daemon=True, name=f"answers of {self._where}")
        self._thread.start()

    def _connected(
        self,
        address: tuple[str, int],
        secret: bytes,
        seconds: float,
        dialled: Callable[[socket.socket], None],
    ) -> socket.socket:
        try:
            sock = socket.create_connection(address, timeout=seconds)
        except OSError as error:
            raise StateServerGoneError(f"nobody answers queries at {self._where}: {error.strerror or error}") from error
        try:
            dialled(sock)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connect(sock, secret)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SENDING)  # who sends must not wait for ever
            send_frame(sock, MESSAGE, 0, p.HELLO)
        except QueryableStateError:
            sock.close()
            raise
        except SlotProtocolError as error:
            sock.close()
            raise QueryRefusedError(f"{self._where} does not know the token") from error
        except EOFError as error:
            sock.close()
            raise QueryRefusedError(f"{self._where} hung up: the token is wrong, or this is no proxy") from error
        except OSError as error:
            sock.close()
            raise StateServerGoneError(f"the connection to {self._where} broke: {error}") from error
        return sock

    @property
    def usable(self) -> bool:
        """Return whether queries can be sent."""
        return self._gone is None

    def ask(self, query: p.Query) -> Future[p.Answer]:
        """Send a query; the future gives the answer, or raises what a QueryableStateError says."""
        future: Future[p.Answer] = Future()
        body = p.encode(query)
        if len(body) > p.MAX_REQUEST:
            future.set_exception(
                QueryRefusedError(f"the query has {len(body):,} bytes, more than the {p.MAX_REQUEST:,} allowed")
            )
            return future
        with self._lock:
            number = next(self._numbers)
            gone = self._gone
            if gone is None:
                self._waiting[number] = future
        if gone is not None:
            future.set_exception(gone)
            return future
        try:
            with self._sending:
                self._socket.sendall(p.frame(p.FrameType.REQUEST, number, body))
        except OSError as error:
            self._lose(error)
        return future

    def close(self) -> None:
        """Hang up; what is under way fails."""
        self._lose(None)
        if self._thread is not threading.current_thread():
            self._thread.join(_SECONDS)

    def _read(self) -> None:
        try:
            while True:
                kind, number, length = p.read_header(receive_exactly(self._socket, p.HEADER.size), p.MAX_ANSWER)
                body = receive_exactly(self._socket, length)
                with self._lock:
                    future = self._waiting.pop(number, None)
                try:
                    answer = p.decode_reply(kind, body)
                except p.MalformedFrameError:
                    raise
                except Exception as error:
                    if future is None:  # said before anything was asked: this connection is refused
                        raise
                    _fail(future, error)
                else:
                    if future is not None:
                        with suppress(InvalidStateError):  # nobody waits any more
                            future.set_result(answer)
        except Exception as error:
            self._lose(error)
        finally:
            self._socket.close()

    def _lose(self, error: Exception | None) -> None:
        why = "it was closed" if error is None else str(error)
        with self._lock:
            if self._gone is None and isinstance(error, QueryRefusedError):
                self._gone = error
            elif self._gone is None:
                self._gone = StateServerGoneError(f"the connection to {self._where} broke: {why}")
            gone = self._gone
            waiting, self._waiting = list(self._waiting.values()), {}
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for future in waiting:
            _fail(future, gone)


def _fail(future: Future[p.Answer], error: Exception) -> None:
    with suppress(InvalidStateError):
        future.set_exception(error)
