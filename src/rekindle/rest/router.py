"""Which handler answers a request: by method and path, whose variable parts stand behind colons as in Flink's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from urllib.parse import unquote

from rekindle.rest.messages import Request, RequestError, Response

Handler = Callable[[Request], Response]
_VERSION = "v1"  # Flink's paths may begin with the version of its interface


class Router:
    """Find handlers.

    Args:
        routes: Method, path and handler of each; the first that fits answers.
    """

    def __init__(self, routes: Iterable[tuple[str, str, Handler]]) -> None:
        self._routes = [(method, path.split("/"), handler) for method, path, handler in routes]

    def handle(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            RequestError: There is no such path, or not with this method.
        """
        segments = request.path.split("/")
        if len(segments) > 2 and not segments[-1]:
            segments.pop()  # a slash at the end means nothing
        if len(segments) > 2 and segments[1] == _VERSION:
            del segments[1]
        allowed = []
        for method, pattern, handler in self._routes:
            parameters = _match(pattern, segments)
            if parameters is None:
                continue
            if method == request.method or (request.method == "HEAD" and method == "GET"):
                return handler(replace(request, parameters=parameters))
            allowed.append(method)
        if not allowed:
            raise RequestError(404, f"Not found: {request.path}")
        methods = ", ".join(sorted({*allowed, *(["HEAD"] if "GET" in allowed else [])}))
        raise RequestError(
            405, f"{request.method} is not possible at {request.path}, only {methods} is.", {"Allow": methods}
        )


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    """Give the variable parts of a path, if it fits."""
    if len(pattern) != len(segments):
        return None
    found = {}
    for expected, given in zip(pattern, segments, strict=True):
        if expected.startswith(":"):
            found[expected[1:]] = unquote(given)
        elif expected != given:
            return None
    return found
