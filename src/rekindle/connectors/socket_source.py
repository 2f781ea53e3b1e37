"""A source that reads text from a socket."""

from __future__ import annotations

import codecs
import socket
import time
from contextlib import suppress
from typing import Any

from rekindle.contracts.functions import SourceFunction

__all__ = ["SocketTextStreamFunction"]

_CONNECT_SECONDS = 10.0
_RETRY_SECONDS = 0.5
_READ_BYTES = 1 << 16


class SocketTextStreamFunction(SourceFunction[str]):
    """Read UTF-8 text from a server and emit it piece by piece; with lines, without a carriage return at their ends."""

    def __init__(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        if not 0 < port < 65536:
            raise ValueError(f"a port is a number from 1 to 65535, and {port} was given")
        if not delimiter:
            raise ValueError("the delimiter of a socket stream must not be empty")
        self._address = (hostname, port)
        self._delimiter = delimiter
        self._max_retry = max_retry
        self._running = True
        self._text = ""
        self._socket: socket.socket | None = None

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Read until the server ends the connection as often as it may."""
        attempts = 0
        while self._running:
            try:
                with socket.create_connection(self._address, _CONNECT_SECONDS) as connection:
                    connection.settimeout(None)
                    self._socket = connection
                    self._read(connection, ctx)
                ended: OSError | None = None
            except OSError as error:
                ended = error
            if self._cancelled():
                return
            if 0 <= self._max_retry <= attempts:
                if ended is not None:
                    raise ended
                break
            attempts += 1
            time.sleep(_RETRY_SECONDS)
        if self._text:
            ctx.collect(self._stripped(self._text))

    def cancel(self) -> None:
        """Close the connection."""
        self._running = False
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self, connection: socket.socket, ctx: Any) -> None:
        """Emit what comes; keep the piece that has not yet come to its end, however the connection ends."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while self._running and (data := connection.recv(_READ_BYTES)):
            *pieces, self._text = (self._text + decoder.decode(data)).split(self._delimiter)
            for piece in pieces:
                ctx.collect(self._stripped(piece))

    def _cancelled(self) -> bool:
        return not self._running

    def _stripped(self, piece: str) -> str:
        return piece.removesuffix("\r") if self._delimiter == "\n" else piece
