"""The ASGI application: reads a request within its limits, lets a thread answer it, and sends the answer.

Handlers are plain functions that may wait (for a lock of the job master, for slots that are asked for metrics), so each
runs in a thread, a few at a time. The threads are daemons: a program's end does not wait for them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from rekindle.exceptions import ConfigurationError
from rekindle.rest.messages import Request, RequestError, Response, refusal
from rekindle.rest.protection import Head, check, too_large
from rekindle.rest.settings import RestSettings

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

TIME_LIMIT = 30.0
_AT_ONCE = 8
_MAX_QUERY_FIELDS = 50
_SECURITY_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class RestApp:
    """Serve requests.

    Args:
        settings: The limits, and who may ask.
        handle: Answers a request; called in a thread.
        time_limit: How many seconds a request may take altogether.
    """

    def __init__(
        self, settings: RestSettings, handle: Callable[[Request], Response], time_limit: float = TIME_LIMIT
    ) -> None:
        self._settings = settings
        self._handle = handle
        self._time_limit = time_limit
        self._threads = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        sent = False

        async def send_once(message: MutableMapping[str, Any]) -> None:
            nonlocal sent
            sent = True
            await send(message)

        try:
            async with asyncio.timeout(self._time_limit):
                response = await self._respond(scope, receive)
                await _send(send_once, response, scope["method"] == "HEAD")
        except TimeoutError:
            if not sent:  # a client that does not read its answer is cut off by the server
                late = RequestError(503, "The request took too long; nothing more is known about it. Ask again later.")
                await _send(send, refusal(late), scope["method"] == "HEAD")

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        try:
            head = Head(scope["method"], _target(scope), tuple(scope["headers"]))
            check(head, self._settings)
            body = await self._read(receive)
            request = Request(head.method, scope["path"], {}, _query(scope["query_string"]), body)
            async with self._threads:
                return await in_thread(lambda: self._handle(request))
        except RequestError as error:
            return refusal(error)
        except ConfigurationError as error:
            return refusal(RequestError(400, str(error)))
        except Exception:
            log.exception("the request %s %s failed", scope["method"], scope["path"])
            return refusal(RequestError(500, "Internal server error. The log of the driver says more."))

    async def _read(self, receive: Receive) -> bytes:
        """Read the body, but no more than is allowed."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError(400, "The request ended early.")
            body += message.get("body", b"")
            if len(body) > self._settings.max_content_length:
                raise too_large(self._settings)
            if not message.get("more_body", False):
                return bytes(body)


def _target(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return path + b"?" + query if query else path


def _query(query: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_QUERY_FIELDS))
    except ValueError:
        raise RequestError(400, "The query of the address cannot be read.") from None


async def _send(send: Send, response: Response, head_only: bool) -> None:
    headers = [
        (b"content-type", response.content_type.encode()),
        (b"content-length", str(len(response.body)).encode()),
        *_SECURITY_HEADERS,
        *((name.lower().encode(), value.encode()) for name, value in response.headers.items()),
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head_only else response.body})


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread that no one waits for when the process ends, and wait for its result here."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return  # nobody waits any more
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            log.debug("a request was answered after the server had ended")

    threading.Thread(target=run, name="rest-request", daemon=True).start()
    return await done
