"""What every request passes on its way in and every response on its way out: checks, limits and headers."""

from __future__ import annotations

import asyncio
import logging

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rekindle.rest.messages import RequestError, refusal
from rekindle.rest.protection import check, too_large
from rekindle.rest.settings import RestSettings

log = logging.getLogger(__name__)

TIME_LIMIT = 30.0
_VERSION = "/v1"  # Flink's paths may begin with the version of its interface
_SECURITY_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_LATE = RequestError(503, "The request took too long; its outcome is unknown. Try again later.")
_FAILED = RequestError(500, "Internal server error. The log of the driver says more.")


class Guard:
    """Let a request pass if it may, and see that it ends.

    A response may say otherwise than the headers that are added here.

    Args:
        app: What answers requests.
        settings: The limits, and who may ask.
        time_limit: How many seconds may pass until the response begins, and between two parts of it.
    """

    def __init__(self, app: ASGIApp, settings: RestSettings, time_limit: float) -> None:
        self._app = app
        self._settings = settings
        self._time_limit = time_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun, received = False, 0

        async def limited_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._settings.max_content_length:
                raise too_large(self._settings)
            return message

        async def secured_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            deadline.reschedule(asyncio.get_running_loop().time() + self._time_limit)
            await send(message)

        try:
            async with asyncio.timeout(self._time_limit) as deadline:
                check(Request(scope), self._settings)
                await self._app(_routed(scope), limited_receive, secured_send)
                return
        except RequestError as refused:
            error = refused
        except Exception as failure:
            error = _LATE if deadline.expired() else _FAILED
            if error is _FAILED:
                log.error("the request %s %s failed", scope["method"], scope["path"], exc_info=failure)
        if not begun:  # a client that does not read its answer is cut off by the server
            async with asyncio.timeout(self._time_limit) as deadline:
                await refusal(error)(scope, receive, secured_send)


def _routed(scope: Scope) -> Scope:
    """Return the scope by which the handler is found: a slash at the end means nothing, nor does Flink's version."""
    path = scope["path"]
    root = _VERSION if path.startswith(f"{_VERSION}/") else ""
    return {**scope, "path": path[:-1] if len(path) > 1 and path.endswith("/") else path, "root_path": root}
