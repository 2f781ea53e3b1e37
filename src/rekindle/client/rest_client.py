"""Requests to the REST interface of a driver, and what its answers mean. Which paths there are, remote_job.py knows."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from rekindle.exceptions import ConfigurationError, NotFoundError, RestError, UnreachableError

TIMEOUT = 10.0

_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class RestClient:
    """Send requests to one REST interface. Every request has a connection of its own: any thread may send one.

    Args:
        url: Where it is: ``http://host:port``, as ``base_url`` gives it.
        token: What it wants to see; None: nothing.
        timeout: How many seconds to wait for an answer.

    Raises:
        ConfigurationError: There can be no such token.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = TIMEOUT) -> None:
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ConfigurationError("the token contains invalid characters: pass the value of rest.token")
        self.url = url
        self._token = token
        self._timeout = timeout

    def get(self, path: str) -> dict[str, Any]:
        """Read a document.

        Raises:
            UnreachableError: Nobody answers, or not to this token.
            NotFoundError: There is no such thing.
            RestError: It was refused for another reason.
        """
        return self._document("GET", path, None)

    def get_list(self, path: str) -> list[dict[str, Any]]:
        """Read a document that is a list; raises as ``get`` does."""
        answer = self._request("GET", path, None)
        return answer if isinstance(answer, list) else []

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask for something to be done; raises as ``get`` does."""
        return self._document("POST", path, body)

    def patch(self, path: str) -> dict[str, Any]:
        """Ask for a change; raises as ``get`` does."""
        return self._document("PATCH", path, None)

    def _document(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        answer = self._request(method, path, body)
        if not isinstance(answer, dict):
            raise self._foreign(HTTPStatus.OK)
        return answer

    def _request(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        status, content = self._exchange(method, path, body)
        try:
            document = json.loads(content or b"{}")
        except ValueError as error:
            if status not in _REFUSED:  # as a proxy may, without a document
                raise self._foreign(status) from error
            document = {}
        if status < HTTPStatus.BAD_REQUEST:
            return document
        raise self._refusal(status, _text(document, status))

    def _exchange(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self._timeout)
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, parts.path + path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError as error:
            raise UnreachableError(f"{self.url} did not answer within {self._timeout:g} s") from error
        except (OSError, HTTPException, UnicodeError) as error:
            raise UnreachableError(f"nothing answers at {self.url}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _foreign(self, status: int) -> UnreachableError:
        return UnreachableError(
            f"what listens at {self.url} is not the REST interface of a job (HTTP {status})", status
        )

    def _refusal(self, status: int, text: str) -> RestError:
        if status in _REFUSED:
            problem = "refuses this token" if self._token else "requires a token"
            return UnreachableError(f"{self.url} {problem}: pass the one it was started with (rest.token)", status)
        return (NotFoundError if status == HTTPStatus.NOT_FOUND else RestError)(text, status)


def _text(document: Any, status: int) -> str:
    """Return the server's own words: the first of Flink's ``errors``; a stack trace may follow it."""
    errors = document.get("errors") if isinstance(document, dict) else None
    if isinstance(errors, list) and errors:
        return str(errors[0])
    return f"the request was refused without a reason: HTTP {status}"
