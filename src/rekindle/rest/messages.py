"""What goes in and out: bodies of requests, JSON, and errors in Flink's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

JSON = "application/json; charset=UTF-8"
Handler = Callable[[Request], Response]
"""Answers a request; it may wait. The body of the request is in ``request.state.body``."""

T = TypeVar("T")


class RequestError(Exception):
    """Refuse a request; the client gets the status and the message.

    Args:
        status: The status of the response.
        message: What was wrong, and what to do about it.
        headers: What the response has to say besides.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


def read_body(request: Request, kind: type[T]) -> T:
    """Read the body of a request; an empty one stands for ``{}``.

    Raises:
        RequestError: It is not JSON, or has unknown fields or values of another type.
    """
    try:
        return msgspec.json.decode(request.state.body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"The body of the request cannot be read: {error}.") from None


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a JSON document."""
    return Response(msgspec.json.encode(document), status, headers, JSON)


def refusal(error: RequestError) -> Response:
    """Answer with an error, as Flink does."""
    message = error.message.encode("utf-8", "backslashreplace").decode()  # it may quote anything
    return answer({"errors": [message]}, error.status, error.headers)
