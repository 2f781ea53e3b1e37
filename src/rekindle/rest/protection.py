"""Who may ask what: the checks that every request passes before anything else looks at it. Pure.

Other users of this machine reach what listens on loopback, and so does whatever runs in a browser on it. The users are
kept out by the token, which they cannot read. It is not needed for the files of the pages, which hold no more than the
package does, nor, on loopback with a token that nobody else was told, for the numbers that Prometheus collects. The
browser is kept out by its ``Host`` (a name of somebody else's that leads here), by its ``Origin`` (a page of somebody
else's), and by the type of its body (a form's is not JSON); and a token is in no cookie, which it would send by itself.
"""

from __future__ import annotations

import hmac
import re
from urllib.parse import urlsplit

from starlette.requests import Request

from rekindle.base.loopback import is_loopback
from rekindle.rest.messages import RequestError
from rekindle.rest.settings import RestSettings

PROBE = b"/healthz"
PAGES = b"/dashboard/"
METRICS = b"/metrics"
MAX_TARGET = 4 << 10
MAX_HEADERS = 16 << 10
MAX_QUERY_FIELDS = 50
_MOST_DIGITS = 18  # of a length that is looked at at all
# A name or an address and its port, and nothing of another part of an address.
_HOST = re.compile(r"(\[[^\[\]@/\\?#\s]*\]|[^\[\]:@/\\?#\s]+)(:[0-9]*)?")
_METHODS_WITH_BODY = frozenset({"POST", "PATCH", "PUT", "DELETE"})


def check(request: Request, settings: RestSettings) -> None:
    """Let a request pass.

    Raises:
        RequestError: It may not.
    """
    _check_size(request)
    if _is_probe(request):
        pass  # whoever looks after a machine asks by its address, and has no token; the answer names nothing
    else:
        if settings.token is None or settings.told:
            _check_host(request, settings)
        if settings.token is not None and not _is_page(request) and not (settings.told and _is_for_numbers(request)):
            _check_token(request, settings.token)
    _check_origin(request)
    _check_body(request, settings)
    _check_query(request)


def _is_probe(request: Request) -> bool:
    return request.method in ("GET", "HEAD") and request.scope["raw_path"] == PROBE


def _is_page(request: Request) -> bool:
    """Return whether a request is for a page, which a browser asks for without a token; it says nothing of any job."""
    path: bytes = request.scope["raw_path"]
    return request.method in ("GET", "HEAD") and (path == b"/" or path.startswith(PAGES))


def _is_for_numbers(request: Request) -> bool:
    return request.method in ("GET", "HEAD") and request.scope["raw_path"] == METRICS


def _header(request: Request, name: str) -> str | None:
    """Return the value of a header.

    Raises:
        RequestError: There are several of that name: which of them counts would be anybody's guess.
    """
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise RequestError(400, f"There are {len(values)} headers {name!r}, and there may be one.")
    return values[0].strip() if values else None


def _check_size(request: Request) -> None:
    path, query = request.scope["raw_path"], request.scope["query_string"]
    if len(path) + len(query) + bool(query) > MAX_TARGET:
        raise RequestError(414, f"The address is longer than {MAX_TARGET} bytes.")
    if sum(len(name) + len(value) for name, value in request.headers.raw) > MAX_HEADERS:
        raise RequestError(431, f"The headers are longer than {MAX_HEADERS} bytes.")


def _check_token(request: Request, token: str) -> None:
    scheme, _, given = (_header(request, "authorization") or "").partition(" ")
    matches = hmac.compare_digest(given.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not matches:
        raise RequestError(
            401,
            "A token is needed: send it as 'Authorization: Bearer …'. It is what rest.token says; else it is in the "
            "address that the driver printed, and in the file that rekindle list --json names as header_file.",
            {"WWW-Authenticate": 'Bearer realm="rekindle"'},
        )


def _check_host(request: Request, settings: RestSettings) -> None:
    host = _header(request, "host")
    name = _host_name(host)
    if name is None or not (is_loopback(name) or name == (settings.address or "").lower()):
        raise RequestError(
            403, f"This is not {host or 'a host without a name'}: ask for 127.0.0.1 or localhost, or set rest.address."
        )


def _check_origin(request: Request) -> None:
    origin = _header(request, "origin")
    if origin is None:
        return
    try:
        parts = urlsplit(origin)
    except ValueError:
        raise RequestError(403, "The Origin header is not valid.") from None
    if parts.scheme not in ("http", "https") or parts.netloc.lower() != (_header(request, "host") or "").lower():
        raise RequestError(403, "Requests from other pages are not allowed.")


def _check_body(request: Request, settings: RestSettings) -> None:
    length = _header(request, "content-length")
    chunked = _header(request, "transfer-encoding") is not None
    if chunked and length is not None:  # a proxy may go by the other one, and take the body for another request
        raise RequestError(400, "Content-Length and Transfer-Encoding are both given.", {"Connection": "close"})
    has_body = chunked or length not in (None, "0")
    if length is not None and length.isascii() and length.isdigit():
        digits = length.lstrip("0")
        if len(digits) > _MOST_DIGITS or int(digits or "0") > settings.max_content_length:
            raise too_large(settings)
    if request.method in _METHODS_WITH_BODY and has_body:
        kind = (_header(request, "content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError(415, "A body must be JSON: send it with 'Content-Type: application/json'.")


def _check_query(request: Request) -> None:
    query: bytes = request.scope["query_string"]
    if not query.isascii() or query.count(b"&") >= MAX_QUERY_FIELDS:
        raise RequestError(400, "The query of the address cannot be read.")


def too_large(settings: RestSettings) -> RequestError:
    """Say that a body is too large."""
    return RequestError(
        413,
        f"The body is larger than {settings.max_content_length} bytes. rest.server.max-content-length sets the limit.",
        {"Connection": "close"},
    )


def _host_name(host: str | None) -> str | None:
    """Return the name in a Host header, without its port."""
    if not host or not _HOST.fullmatch(host):
        return None
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return None
    return name.lower() if name else None
