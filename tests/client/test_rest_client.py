"""What the answers of a REST interface mean."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from rekindle.client import RestClient
from rekindle.exceptions import NotFoundError, RestError, UnreachableError
from support.fake_rest import FakeRest, Request, serving


class Fixed(FakeRest):
    """Give the same answer to everything."""

    def __init__(self) -> None:
        super().__init__()
        self.reply: tuple[int, object] = (200, {})

    def answer(self, request: Request) -> tuple[int, object]:
        self.requests.append(request)
        return self.reply


@pytest.fixture
def server() -> Iterator[Fixed]:
    with serving(Fixed()) as rest:
        assert isinstance(rest, Fixed)
        yield rest


def test_a_document_is_read(server: Fixed) -> None:
    server.reply = (200, {"jobs": []})
    assert RestClient(server.url).get("/jobs?x=1") == {"jobs": []}
    (request,) = server.requests
    assert (request.method, request.path, request.body, request.authorization) == ("GET", "/jobs?x=1", None, None)


def test_a_list_is_read(server: Fixed) -> None:
    server.reply = (200, [{"id": "a"}])
    assert RestClient(server.url).get_list("/metrics") == [{"id": "a"}]
    with pytest.raises(UnreachableError, match="not the REST interface of a job"):
        RestClient(server.url).get("/metrics")


def test_body_and_token_are_sent(server: Fixed) -> None:
    server.reply = (202, {"request-id": "1"})
    assert RestClient(server.url, "secret").post("/jobs/1/stop", {"drain": True}) == {"request-id": "1"}
    (request,) = server.requests
    assert (request.method, request.body, request.authorization) == ("POST", {"drain": True}, "Bearer secret")


def test_a_path_before_all_paths_is_kept(server: Fixed) -> None:
    RestClient(f"{server.url}/proxy").patch("/jobs/1?mode=cancel")
    assert server.requests[0].path == "/proxy/jobs/1?mode=cancel"


@pytest.mark.parametrize(
    ("status", "document", "kind", "text"),
    [
        (404, {"errors": ["Job 1 not found", "a trace"]}, NotFoundError, "^Job 1 not found$"),
        (400, {"errors": ["no directory"]}, RestError, "^no directory$"),
        (500, {}, RestError, "HTTP 500"),
        (500, [], RestError, "HTTP 500"),
        (401, {"errors": ["Unauthorized"]}, UnreachableError, "requires a token"),
        (403, b"<html>", UnreachableError, "requires a token"),
        (404, b"<html>", UnreachableError, r"not the REST interface of a job \(HTTP 404\)"),
        (200, b"<html>", UnreachableError, "not the REST interface of a job"),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(
    server: Fixed, status: int, document: object, kind: type[RestError], text: str
) -> None:
    server.reply = (status, document)
    with pytest.raises(RestError, match=text) as caught:
        RestClient(server.url).get("/jobs")
    assert type(caught.value) is kind
    assert caught.value.status == status


def test_a_wrong_token_is_told_from_a_missing_one_and_never_shown(server: Fixed) -> None:
    server.reply = (401, {})
    with pytest.raises(UnreachableError, match="refuses this token") as caught:
        RestClient(server.url, "secret").get("/jobs")
    assert "secret" not in str(caught.value)


def test_nobody_answers() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=f"nothing answers at {url}.*refused") as caught:
            RestClient(url).get("/jobs")
    assert caught.value.status is None
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_an_answer_that_does_not_come_is_given_up() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnreachableError, match="did not answer within"):
            RestClient(url, timeout=0.05).get("/jobs")


def test_an_answer_that_breaks_off_counts_as_none() -> None:
    import threading

    def hang_up(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=hang_up, args=(listening,))
        thread.start()
        with pytest.raises(UnreachableError, match="nothing answers"):
            RestClient(f"http://127.0.0.1:{listening.getsockname()[1]}").get("/jobs")
        thread.join()
