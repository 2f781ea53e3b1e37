"""The port of queries: whatever comes in, nothing crashes, hangs or leaks."""

from __future__ import annotations

import gc
import os
import random
import resource
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
import pytest

from rekindle.exceptions import QueryableStateError, QueryRefusedError, StateServerGoneError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.network_thread import requests_in
from rekindle.runtime.queries.query_connection import QueryConnection
from rekindle.runtime.queries.query_port import Handle, QueryPort, Reply, listening_socket
from rekindle.runtime.wire.framing import MESSAGE, send_frame
from rekindle.runtime.wire.handshake import connect
from support.processes import wait_until
from support.seeds import SEED

SECRET = b"secret"
FRAMES = 100_000
"""How many frames are thrown at the decoder; a twentieth as many at a socket."""


def echo(query: p.Query, reply: Reply) -> None:
    """Answer with the keys."""
    if query.name == "raise":
        raise ZeroDivisionError("oops")
    reply(p.Answer([p.Result(p.QueriedValue(key.data)) for key in query.keys], "value"))


@contextmanager
def port(handle: Handle = echo, **options: float) -> Iterator[QueryPort]:
    made = QueryPort(listening_socket("127.0.0.1", (0,)), SECRET, "port of a test", handle, **options)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.close()


def query(*keys: bytes, name: str = "name") -> p.Query:
    return p.Query("0" * 32, name, [p.QueriedKey(key, 5) for key in keys])


def raw_peer(to: QueryPort) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", to.port), timeout=10)
    connect(sock, SECRET)
    send_frame(sock, MESSAGE, 0, p.HELLO)
    sock.settimeout(10)
    return sock


def test_answers_belong_to_their_questions() -> None:
    with port(network_threads=2, query_threads=3) as served:
        connection = QueryConnection(("127.0.0.1", served.port), SECRET)
        asked = [(number, connection.ask(query(b"%d" % number))) for number in range(500)]
        for number, answer in asked:
            value = answer.result(30).results[0].value
            assert value is not None
            assert value.values == b"%d" % number
        with pytest.raises(QueryableStateError, match="ZeroDivisionError: oops"):
            connection.ask(query(b"x", name="raise")).result(30)
        large = connection.ask(query(b"x" * 500_000, b"y" * 500_000)).result(30)
        assert [len(result.value.values) for result in large.results if result.value] == [500_000, 500_000]
        connection.close()
    with pytest.raises(StateServerGoneError):
        connection.ask(query(b"x")).result(30)


def test_a_wrong_secret_is_turned_away() -> None:
    with port() as served, pytest.raises(QueryRefusedError, match="token"):
        QueryConnection(("127.0.0.1", served.port), b"other")


def test_another_version_is_told_so() -> None:
    with port() as served:
        sock = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        with sock:
            connect(sock, SECRET)
            send_frame(sock, MESSAGE, 0, b"RKQS\x63")
            sock.settimeout(10)
            kind, request, length = p.read_header(sock.recv(p.HEADER.size, socket.MSG_WAITALL), p.MAX_ANSWER)
            with pytest.raises(QueryRefusedError, match="version 1"):
                p.decode_reply(kind, sock.recv(length, socket.MSG_WAITALL))
            assert request == 0


def test_an_oversized_request_is_refused_before_it_is_read() -> None:
    with port() as served, raw_peer(served) as sock:
        sock.sendall(p.HEADER.pack(p.MAGIC, p.FrameType.REQUEST, 1, p.MAX_REQUEST + 1))
        assert sock.recv(1) == b""


def test_a_request_that_trickles_in_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with port(seconds=0.2) as served, raw_peer(served) as sock:
        sock.sendall(p.HEADER.pack(p.MAGIC, p.FrameType.REQUEST, 1, 100) + b"begun")
        assert sock.recv(1) == b""
    assert "its request did not arrive within 0.2 s" in caplog.text


def test_a_peer_that_fetches_no_answers_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    def much(query: p.Query, reply: Reply) -> None:
        reply(p.Answer([p.Result(p.QueriedValue(bytes(8 << 20)))]))

    with port(much, seconds=0.2) as served, raw_peer(served) as sock:
        body = p.encode(query(b"x"))
        sock.sendall(p.frame(p.FrameType.REQUEST, 1, body) * 4)
        assert sock.recv(1) != b""
        wait_until(lambda: served.peers == 0, "the peer was dropped")
    assert "it did not fetch its answers" in caplog.text


def test_a_peer_with_many_requests_waits_for_answers() -> None:
    replies: list[Reply] = []
    with port(lambda query, reply: replies.append(reply)) as served, raw_peer(served) as sock:
        sock.sendall(p.frame(p.FrameType.REQUEST, 1, p.encode(query(b"x"))) * 100)
        wait_until(lambda: len(replies) == 64, "as many as allowed are under way")
        answered = 0
        while answered < 100:
            wait_until(lambda: len(replies) > answered, "another one is under way")  # noqa: B023
            replies[answered](p.Answer([p.Result()]))
            answered += 1


def frames(rng: random.Random) -> bytes:
    """Return a frame that is right, mutated, cut off, or nothing but noise."""
    keys = [p.QueriedKey(rng.randbytes(rng.randrange(12)), rng.getrandbits(63)) for _ in range(rng.randrange(4))]
    made = p.Query("0" * 32, "name", keys, rng.choice(list(p.Consistency)), rng.choice(list(p.Form)), rng.randbytes(4))
    body = p.encode(made)
    choice = rng.randrange(6)
    if choice == 0:
        return rng.randbytes(rng.randrange(1, 80))
    if choice == 1:
        body = rng.randbytes(rng.randrange(200))
    data = bytearray(p.frame(rng.choice(list(p.FrameType)) if choice == 2 else p.FrameType.REQUEST, 1, body))
    if choice >= 3:
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if choice == 5:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


def test_no_frame_gets_anything_but_a_query_or_a_refusal_out_of_the_decoder() -> None:
    rng = random.Random(SEED)
    taken = refused = 0
    for _ in range(FRAMES):
        received = bytearray(frames(rng))
        try:
            for _, body in requests_in(received, 10):
                asked = p.decode_query(body)
                assert all(isinstance(key.data, bytes) for key in asked.keys)
                taken += 1
        except (p.MalformedFrameError, QueryRefusedError):
            refused += 1
        kind, body = rng.choice(list(p.FrameType)), frames(rng)[p.HEADER.size :]
        with suppress(p.MalformedFrameError, QueryableStateError):
            p.decode_reply(kind, body)
    assert taken > FRAMES // 20
    assert refused > FRAMES // 20


def test_no_frame_crashes_or_hangs_a_port_or_makes_it_leak() -> None:
    rng = random.Random(SEED)
    with port(seconds=0.5) as served:
        connection = QueryConnection(("127.0.0.1", served.port), SECRET)
        connection.ask(query(b"first")).result(30)  # all threads run now
        connection.close()
        wait_until(lambda: served.peers == 0, "the peer is gone")
        threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(FRAMES // 400):
            with raw_peer(served) as sock, suppress(OSError):
                sock.sendall(b"".join(frames(rng) for _ in range(20)))
                if rng.random() < 0.5:
                    sock.shutdown(socket.SHUT_WR)
                    while sock.recv(1 << 16):
                        pass
        for _ in range(20):  # those who never get as far
            with socket.create_connection(("127.0.0.1", served.port)) as sock, suppress(OSError):
                sock.sendall(rng.randbytes(100))
        connection = QueryConnection(("127.0.0.1", served.port), SECRET)
        assert connection.ask(query(b"still there")).result(30).results[0].value is not None
        connection.close()
        wait_until(lambda: served.peers == 0, "all peers are gone")
        wait_until(lambda: threading.active_count() <= threads, "no thread is left")
        gc.collect()
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors, "no descriptor is left")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200 << 10  # KiB


def test_ports_are_tried_in_their_order_and_then_any_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = taken.getsockname()[1]
        with listening_socket("127.0.0.1", (used,)) as other:
            assert other.getsockname()[1] != used
        with socket.create_server(("127.0.0.1", 0)) as probe:
            free = probe.getsockname()[1]
        with listening_socket("127.0.0.1", (used, free)) as other:
            assert other.getsockname()[1] == free


def test_a_header_is_as_documented() -> None:
    data = p.frame(p.FrameType.REQUEST, 7, b"body")
    assert data == b"RQ" + b"\x01" + struct.pack("!Q", 7) + struct.pack("!I", 4) + b"body"
    assert msgspec.msgpack.decode(p.encode(query(b"k")))[:3] == ["0" * 32, "name", [[b"k", 5]]]
