"""Text from a socket, piece by piece."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rekindle.connectors import socket_source
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.slot.failure import OperatorError
from support.in_process_job import InProcessJob, collect
from support.processes import wait_until


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def serve(server: socket.socket, *connections: list[bytes]) -> threading.Thread:
    """Send to one client after the other, each in pieces."""

    def run() -> None:
        for pieces in connections:
            client, _ = server.accept()
            with client:
                for piece in pieces:
                    client.sendall(piece)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def stream(server: socket.socket, **settings: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.socket_text_stream("127.0.0.1", server.getsockname()[1], **settings))
    return env


def run_to_end(job: InProcessJob) -> list[Any]:
    """Run epochs, as a job master does, until the source has ended."""
    wait_until(lambda: all(report.finished for report in job.run_epoch()), "the source ends")
    return job.collected


@pytest.mark.parametrize(
    ("sent", "delimiter", "expected"),
    [
        ([b"one\ntwo\n"], "\n", ["one", "two"]),
        ([b"one\r\ntw", b"o\nthree"], "\n", ["one", "two", "three"]),
        ([b"a||b", b"|", b"|c\n"], "||", ["a", "b", "c\n"]),
        (["gr\u00fc\u00df".encode()[:3], "gr\u00fc\u00df".encode()[3:], b"\n\n"], "\n", ["gr\u00fc\u00df", ""]),
        ([], "\n", []),
    ],
)
def test_text_is_cut_at_the_delimiter(
    server: socket.socket, sent: list[bytes], delimiter: str, expected: list[str]
) -> None:
    thread = serve(server, sent)
    with InProcessJob(stream(server, delimiter=delimiter)) as job:
        assert run_to_end(job) == expected
    thread.join(60)


def test_it_connects_again_as_often_as_it_may(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_source, "_RETRY_SECONDS", 0.0)
    thread = serve(server, [b"one\ntw"], [b"o\n"])
    with InProcessJob(stream(server, max_retry=-1)) as job:
        wait_until(lambda: job.run_epoch() and len(job.collected) == 2, "both lines have come")
        assert job.collected == ["one", "two"]
    thread.join(60)


def test_a_connection_that_breaks_brings_nothing_twice(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_source, "_RETRY_SECONDS", 0.0)
    line_came = threading.Event()

    def run() -> None:
        client, _ = server.accept()
        with client:
            client.sendall(b"on")
        client, _ = server.accept()
        client.sendall(b"e\n")
        assert line_came.wait(60)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # which resets the connection
        client, _ = server.accept()
        with client:
            client.sendall(b"two\n")

    threading.Thread(target=run, daemon=True).start()
    with InProcessJob(stream(server, max_retry=-1)) as job:
        wait_until(lambda: job.run_epoch() and job.collected, "a line has come")
        line_came.set()
        wait_until(lambda: job.run_epoch() and len(job.collected) == 2, "both lines have come")
        assert job.collected == ["one", "two"]


def test_it_ends_after_so_many_connections(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_source, "_RETRY_SECONDS", 0.0)
    thread = serve(server, [b"one\ntw"], [b"o\nth"], [b"ree"])
    with InProcessJob(stream(server, max_retry=2)) as job:
        assert run_to_end(job) == ["one", "two", "three"]
    thread.join(60)


def test_a_server_that_is_not_there_fails_the_job(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_source, "_RETRY_SECONDS", 0.0)
    env = stream(server, max_retry=2)
    server.close()
    with InProcessJob(env) as job, pytest.raises(OperatorError) as caught:
        run_to_end(job)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


def test_closing_the_job_ends_a_source_that_waits_for_text(server: socket.socket) -> None:
    gone = threading.Event()

    def run() -> None:
        client, _ = server.accept()
        with client:
            client.sendall(b"one\n")
            assert client.recv(1) == b""
            gone.set()

    threading.Thread(target=run, daemon=True).start()
    with InProcessJob(stream(server)) as job:
        wait_until(lambda: job.run_epoch() and job.collected, "a line has come")
    assert gone.wait(60)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda env: env.socket_text_stream("localhost", 0), "from 1 to 65535"),
        (lambda env: env.socket_text_stream("localhost", 1, ""), "must not be empty"),
    ],
)
def test_bad_addresses_are_refused(call: Callable[[Any], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(StreamExecutionEnvironment.get_execution_environment())
