"""What comes in and goes out: requests, responses, and errors in Flink's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

JSON = "application/json; charset=UTF-8"
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


@dataclass(frozen=True, slots=True)
class Request:
    """Hold what a handler needs of a request.

    Attributes:
        method: GET, POST, PATCH.
        path: The path, without the query.
        parameters: The variable parts of the path, by name.
        query: The parameters after the question mark; of one that comes twice, the last.
        body: The body, as it came.
    """

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def read(self, kind: type[T]) -> T:
        """Read the body; an empty one stands for ``{}``.

        Raises:
            RequestError: It is no JSON, or has unknown fields or values of another type.
        """
        try:
            return msgspec.json.decode(self.body or b"{}", type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError(400, f"The body of the request cannot be read: {error}.") from None


@dataclass(frozen=True, slots=True)
class Response:
    """Hold an answer."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a JSON document."""
    return Response(msgspec.json.encode(document), status, JSON, headers or {})


def refusal(error: RequestError) -> Response:
    """Answer with an error, as Flink does."""
    message = error.message.encode("utf-8", "backslashreplace").decode()  # it may quote anything
    return answer({"errors": [message]}, error.status, error.headers)
