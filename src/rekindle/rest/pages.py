"""The pages of the dashboard: files of the package, which say nothing about any job.

What they show they ask for themselves, by the other paths. They may load nothing from anywhere else, and run no code
that is not in these files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rekindle.rest.messages import RequestError

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)


@dataclass(frozen=True, slots=True)
class _Page:
    content: bytes
    media_type: str
    tag: str


def page_routes() -> list[Route]:
    """Return where the pages are."""
    return [
        Route("/", _index, methods=["GET"]),
        Route("/dashboard/{name}", _file, methods=["GET"]),
    ]


async def _index(request: Request) -> Response:
    return _served("index.html", request)


async def _file(request: Request) -> Response:
    return _served(request.path_params["name"], request)


def _served(name: str, request: Request) -> Response:
    page = _pages().get(name)
    if page is None:
        raise RequestError(404, f"Not found: {request.scope['path']}")
    headers = {"content-security-policy": _POLICY, "cache-control": "no-cache", "etag": page.tag}
    if request.headers.get("if-none-match") == page.tag:
        return Response(status_code=304, headers=headers)
    return Response(page.content, headers=headers, media_type=page.media_type)


@cache
def _pages() -> dict[str, _Page]:
    """Read all files, once; only these can be asked for."""
    found = {}
    for file in files("rekindle.dashboard").iterdir():
        media_type = _TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            content = file.read_bytes()
            found[file.name] = _Page(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found
