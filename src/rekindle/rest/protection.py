"""Who may ask what: the checks that every request passes before anything else looks at it. Pure.

On loopback no token is needed, so whatever runs in a browser on this machine could ask, too. It is kept out by its
``Host`` (a name of somebody else's that leads here), by its ``Origin`` (a page of somebody else's), and by the type of
its body (a form's is not JSON). Anything that can be reached from elsewhere needs the token.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import urlsplit

from rekindle.rest.messages import RequestError
from rekindle.rest.settings import RestSettings, is_loopback

PROBE = b"/healthz"
MAX_TARGET = 4 << 10
MAX_HEADERS = 16 << 10
_MOST_DIGITS = 18  # of a length that is looked at at all
_METHODS_WITH_BODY = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class Head:
    """Hold what is known of a request before its body is read.

    Attributes:
        method: Its method.
        target: Its path and query, as they came.
        headers: Its headers, with names in lower case.
    """

    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def get(self, name: str) -> str | None:
        """Give the value of a header.

        Raises:
            RequestError: There are several of that name: which of them counts would be anybody's guess.
        """
        values = [value for key, value in self.headers if key == name.encode()]
        if len(values) > 1:
            raise RequestError(400, f"There are {len(values)} headers {name!r}, and there may be one.")
        return values[0].decode("latin-1").strip() if values else None


def check(head: Head, settings: RestSettings) -> None:
    """Let a request pass.

    Raises:
        RequestError: It may not.
    """
    _check_size(head)
    if _is_probe(head):
        pass  # whoever looks after a machine asks by its address, and has no token; the answer names nothing
    elif settings.token is not None:
        _check_token(head, settings.token)
    else:
        _check_host(head, settings)
    _check_origin(head)
    _check_body(head, settings)


def _is_probe(head: Head) -> bool:
    return head.method in ("GET", "HEAD") and head.target.partition(b"?")[0] == PROBE


def _check_size(head: Head) -> None:
    if len(head.target) > MAX_TARGET:
        raise RequestError(414, f"The address is longer than {MAX_TARGET} bytes.")
    if sum(len(name) + len(value) for name, value in head.headers) > MAX_HEADERS:
        raise RequestError(431, f"The headers are longer than {MAX_HEADERS} bytes.")


def _check_token(head: Head, token: str) -> None:
    scheme, _, given = (head.get("authorization") or "").partition(" ")
    matches = hmac.compare_digest(given.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not matches:
        raise RequestError(
            401,
            "A token is needed: send it as 'Authorization: Bearer …'. It is what rest.token says, or in the file by "
            "which commands on the driver's machine find it.",
            {"WWW-Authenticate": 'Bearer realm="rekindle"'},
        )


def _check_host(head: Head, settings: RestSettings) -> None:
    host = head.get("host")
    name = _host_name(host)
    if name is None or not (is_loopback(name) or name == (settings.address or "").lower()):
        raise RequestError(
            403, f"This is not {host or 'a host without a name'}: ask for 127.0.0.1 or localhost, or set rest.address."
        )


def _check_origin(head: Head) -> None:
    origin = head.get("origin")
    if origin is None:
        return
    try:
        parts = urlsplit(origin)
    except ValueError:
        raise RequestError(403, "There can be no page from there.") from None
    if parts.scheme not in ("http", "https") or parts.netloc.lower() != (head.get("host") or "").lower():
        raise RequestError(403, "Pages from elsewhere may not ask here.")


def _check_body(head: Head, settings: RestSettings) -> None:
    length = head.get("content-length")
    has_body = head.get("transfer-encoding") is not None or length not in (None, "0")
    if length is not None and length.isascii() and length.isdigit():
        digits = length.lstrip("0")
        if len(digits) > _MOST_DIGITS or int(digits or "0") > settings.max_content_length:
            raise too_large(settings)
    if head.method in _METHODS_WITH_BODY and has_body:
        kind = (head.get("content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError(415, "A body must be JSON: send it with 'Content-Type: application/json'.")


def too_large(settings: RestSettings) -> RequestError:
    """Say that a body is too large."""
    return RequestError(
        413,
        f"The body is larger than {settings.max_content_length} bytes. rest.server.max-content-length sets the limit.",
        {"Connection": "close"},
    )


def _host_name(host: str | None) -> str | None:
    """Give the name in a Host header, without its port."""
    if not host:
        return None
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return None
    return name.lower() if name else None
