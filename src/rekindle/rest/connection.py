"""One connection to the server: uvicorn's, that also gives up on clients that never finish their request."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0

_quiet = logging.getLogger("rekindle.rest.connection")
_quiet.setLevel(logging.CRITICAL)  # what clients do wrong they are told, and nobody else


class Connection(H11Protocol):
    """Serve a client, if its request's head comes in time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = self.access_logger = _quiet
        self.access_log = False
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def idle_until(self) -> float | None:
        """Tell when the connection is given up, by the clock of its loop; None: there is a request to answer."""
        return None if self._deadline is None else self._deadline.when()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        """Set a deadline while a head is awaited; what comes bit by bit does not put it off."""
        awaited = self.cycle is None or self.cycle.response_complete
        if not awaited:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _too_late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
