"""The ASGI application: Starlette finds the handler of a request, and a thread calls it.

Handlers are plain functions that may wait (for a lock of the job master, for slots that are asked for metrics), so each
runs in a thread, a few at a time of each kind: whether a driver is alive is answered also while other requests wait.
Starlette would run them in threads that the end of the program waits for; these are daemons. What waits for nothing,
such as files and streams of events, is a route of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route

from rekindle.exceptions import ConfigurationError
from rekindle.rest.guard import TIME_LIMIT, Guard
from rekindle.rest.messages import Handler, RequestError, refusal
from rekindle.rest.settings import RestSettings
from rekindle.rest.threads import in_daemon_thread

_AT_ONCE = 8  # of each kind


def rest_app(
    settings: RestSettings,
    handlers: Iterable[tuple[str, str, Handler]],
    time_limit: float = TIME_LIMIT,
    routes: Iterable[Route] = (),
) -> Starlette:
    """Make the application.

    Args:
        settings: The limits, and who may ask.
        handlers: Method, path and handler of each kind of request; the first that fits answers.
        time_limit: How many seconds a client may be kept waiting, and may keep the server waiting.
        routes: What waits for nothing, and needs no thread; these come first.
    """
    app = Starlette(
        routes=[
            *routes,
            *(Route(path, _endpoint(handler), methods=[method]) for method, path, handler in handlers),
        ],
        middleware=[Middleware(Guard, settings, time_limit)],
        exception_handlers={
            RequestError: _refuse,
            ConfigurationError: _refuse_configuration,
            HTTPException: _refuse_unrouted,
            ClientDisconnect: _refuse_unfinished,
        },
    )
    app.router.redirect_slashes = False
    return app


def _endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    threads = asyncio.Semaphore(_AT_ONCE)

    async def endpoint(request: Request) -> Response:
        request.state.body = await request.body()
        async with threads:
            return await asyncio.wrap_future(in_daemon_thread(lambda: handler(request), "rest-request"))

    return endpoint


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return refusal(error)


async def _refuse_configuration(request: Request, error: Exception) -> Response:
    return refusal(RequestError(400, str(error)))


async def _refuse_unfinished(request: Request, error: Exception) -> Response:
    return refusal(RequestError(400, "The request ended early."))


async def _refuse_unrouted(request: Request, error: Exception) -> Response:
    """Refuse a request for which there is no handler: no such path, or not with this method."""
    path, allowed = request.scope["path"], set[str]()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            allowed |= route.methods or set()
    if not allowed:
        return refusal(RequestError(404, f"Not found: {path}"))
    methods = ", ".join(sorted(allowed))
    message = f"{request.method} is not allowed at {path}, only {methods}."
    return refusal(RequestError(405, message, {"Allow": methods}))
