"""A port that strangers cannot wear out."""

from __future__ import annotations

import errno
import logging
import os
import queue
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.wire import call as call_module
from rekindle.runtime.wire import listener as listener_module
from rekindle.runtime.wire.call import call
from rekindle.runtime.wire.framing import HEADER, MESSAGE, receive_exactly
from rekindle.runtime.wire.handshake import connect
from rekindle.runtime.wire.listener import Listener
from support.processes import wait_until

SECRET = b"s" * 32
LONG = 3_600.0


class Port:
    """A listener on a port of this machine, and what it served."""

    def __init__(self, stack: ExitStack, listening: socket.socket | None = None, **settings: Any) -> None:
        self.listening = listening or socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = self.listening.getsockname()
        self.served: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stack = stack
        self.listener = Listener(self.listening, SECRET, "the port", self._serve, **{"seconds": LONG, **settings})
        stack.callback(self.listener.close)

    def _serve(self, sock: socket.socket, first: bytes) -> None:
        with sock:
            self.served.put(first)

    def dial(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=30)

    def stranger(self, sent: bytes = b"") -> socket.socket:
        """Connect, wait for the greeting, and go no further."""
        sock = self._stack.enter_context(self.dial())
        receive_exactly(sock, 32)
        sock.sendall(sent)
        return sock

    def friend(self, message: bytes = b"hello") -> bytes:
        """Call as a slot does; give what was served."""
        with call(self.dial, SECRET, message):
            return self.served.get(timeout=30)


@pytest.fixture
def port() -> Iterator[Callable[..., Port]]:
    with ExitStack() as stack:
        yield lambda **settings: Port(stack, **settings)


def hung_up(sock: socket.socket) -> bool:
    """Wait until the other side hangs up."""
    with suppress(ConnectionResetError):
        while sock.recv(1 << 10):
            pass
    return True


def test_a_peer_that_knows_the_secret_is_served_with_its_first_message(port: Callable[..., Port]) -> None:
    assert port().friend(b"it is me") == b"it is me"


def test_what_follows_the_first_message_is_left_to_whoever_serves(port: Callable[..., Port]) -> None:
    opened = port()
    rest: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def serve(sock: socket.socket, first: bytes) -> None:
        with sock:
            rest.put(first + b"|" + bytes(receive_exactly(sock, 4)))

    opened.listener._serve = serve
    with opened.dial() as sock:
        connect(sock, SECRET)
        sock.sendall(HEADER.pack(MESSAGE, 0, 5) + b"first" + b"rest")
        assert rest.get(timeout=30) == b"first|rest"


def test_an_introduction_that_comes_byte_by_byte_is_understood(port: Callable[..., Port]) -> None:
    opened = port()
    with opened.dial() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        slow = _ByteByByte(sock)
        connect(slow, SECRET)  # type: ignore[arg-type]
        slow.sendall(HEADER.pack(MESSAGE, 0, 5) + b"first")
        assert opened.served.get(timeout=30) == b"first"


class _ByteByByte:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def sendall(self, data: bytes) -> None:
        for index in range(len(data)):
            self._sock.sendall(data[index : index + 1])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


@pytest.mark.parametrize("length", [0, 1 << 17, 1 << 60])
def test_a_first_message_that_can_be_none_is_refused(port: Callable[..., Port], length: int) -> None:
    opened = port()
    with opened.dial() as sock:
        connect(sock, SECRET)
        sock.sendall(HEADER.pack(MESSAGE, 0, length))
        assert hung_up(sock)


@pytest.mark.parametrize("sent", [b"", b"n" * 63], ids=["nothing", "half a proof"])
def test_a_peer_that_does_not_introduce_itself_in_time_is_hung_up_on(port: Callable[..., Port], sent: bytes) -> None:
    opened = port(seconds=0.05)
    assert hung_up(opened.stranger(sent))
    assert opened.friend() == b"hello"


def test_bytes_that_trickle_in_do_not_put_off_the_end(port: Callable[..., Port]) -> None:
    sock = port(seconds=0.2).stranger()
    sock.settimeout(0.01)
    for _ in range(63):  # a proof has 64: it would never be complete
        with suppress(OSError):
            sock.sendall(b"n")
        with suppress(TimeoutError, ConnectionResetError):
            assert sock.recv(1) == b""
            return
    sock.settimeout(30)
    assert hung_up(sock)


def test_a_peer_that_has_proven_the_secret_must_say_its_first_message_in_time(port: Callable[..., Port]) -> None:
    with port(seconds=0.05).dial() as sock:
        connect(sock, SECRET)
        assert hung_up(sock)


def test_with_one_stranger_too_many_the_first_has_to_go(port: Callable[..., Port]) -> None:
    opened = port(strangers=3)
    strangers = [opened.stranger() for _ in range(4)]
    assert hung_up(strangers[0])
    for stranger in strangers[1:]:
        stranger.settimeout(0)
        with pytest.raises(BlockingIOError):
            stranger.recv(1)
    assert opened.friend() == b"hello"


def test_strangers_do_not_take_the_place_of_a_peer_that_has_proven_the_secret(port: Callable[..., Port]) -> None:
    opened = port(strangers=2)
    with opened.dial() as friend:
        connect(friend, SECRET)
        strangers = [opened.stranger() for _ in range(5)]
        assert all(hung_up(stranger) for stranger in strangers[:3])
        friend.sendall(HEADER.pack(MESSAGE, 0, 5) + b"first")
        assert opened.served.get(timeout=30) == b"first"


def test_friends_get_in_while_strangers_come_without_end(port: Callable[..., Port]) -> None:
    opened = port(strangers=8)
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            with suppress(OSError):
                opened.dial().close()

    attackers = [threading.Thread(target=flood) for _ in range(2)]
    for attacker in attackers:
        attacker.start()
    try:
        assert [opened.friend(str(number).encode()) for number in range(20)] == [str(n).encode() for n in range(20)]
    finally:
        over.set()
        for attacker in attackers:
            attacker.join()


class FailingSocket:
    """A listening socket that cannot accept, for a while."""

    def __init__(self, errors: list[int]) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.errors = errors

    def accept(self) -> tuple[socket.socket, Any]:
        if self.errors:
            raise OSError(self.errors.pop(0), "no")
        return self._socket.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


@pytest.mark.parametrize(
    "number",
    [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EPROTO, errno.EPERM],
    ids=errno.errorcode.get,
)
def test_a_connection_that_cannot_be_accepted_is_tried_again(
    port: Callable[..., Port], number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener_module, "_PAUSE", 0.001)
    failing = FailingSocket([number] * 30)
    assert port(listening=failing).friend() == b"hello"
    assert not failing.errors
    assert len(caplog.records) <= 2, "1 and 10 times"


def test_for_want_of_a_descriptor_a_stranger_has_to_go(
    port: Callable[..., Port], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "_PAUSE", 0.001)
    failing = FailingSocket([])
    opened = port(listening=failing)
    stranger = opened.stranger()
    failing.errors = [errno.EMFILE]
    assert opened.friend() == b"hello"
    assert hung_up(stranger)


def test_strangers_get_a_share_of_the_descriptors_that_a_process_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {}
    for limit in (10, 256, 1_024, 1 << 20, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        shares[limit] = listener_module._spare_descriptors()
    assert list(shares.values()) == [1, 16, 64, 64, 64]


def test_little_is_logged_of_many_strangers(port: Callable[..., Port], caplog: pytest.LogCaptureFixture) -> None:
    opened = port(strangers=2)
    for _ in range(150):
        opened.dial().close()
    for _ in range(20):
        with opened.dial() as liar, suppress(OSError):
            receive_exactly(liar, 32)
            liar.sendall(bytes(64))
            hung_up(liar)
    assert opened.friend() == b"hello"
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) <= 8, told
    assert any("did not know the job's secret" in line and "(10 times so far)" in line for line in told)


def test_a_peer_that_cannot_be_served_is_hung_up_on(port: Callable[..., Port], monkeypatch: pytest.MonkeyPatch) -> None:
    opened, threads = port(), iter([RuntimeError("can't start new thread")])

    def thread(*args: Any, **settings: Any) -> threading.Thread:
        for error in threads:
            raise error
        return Thread(*args, **settings)

    Thread = threading.Thread  # noqa: N806 - the class
    monkeypatch.setattr(threading, "Thread", thread)
    with call(opened.dial, SECRET, b"hello") as sock:
        assert hung_up(sock)
    assert opened.friend() == b"hello"


def test_closing_hangs_up_on_strangers_and_takes_nobody(port: Callable[..., Port]) -> None:
    opened = port()
    stranger = opened.stranger()
    opened.listener.close()
    assert hung_up(stranger)
    with pytest.raises(ConnectionRefusedError):
        opened.dial()


# --- who calls ---


def test_who_is_hung_up_on_before_the_secret_is_proven_calls_again(
    port: Callable[..., Port], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_module, "_FIRST_PAUSE", 0.0)
    opened = port()
    with socket.create_server(("127.0.0.1", 0)) as crowded:
        numbers = [crowded.getsockname()] * 3 + [opened.address]

        def dial() -> socket.socket:
            address = numbers.pop(0)
            sock = socket.create_connection(address, timeout=30)
            if address != opened.address:
                crowded.accept()[0].close()
            return sock

        with call(dial, SECRET, b"hello"):
            assert opened.served.get(timeout=30) == b"hello"
    assert numbers == []


def test_who_finds_nobody_does_not_call_again() -> None:
    calls = []

    def dial() -> socket.socket:
        calls.append(1)
        raise ConnectionRefusedError("nobody")

    with pytest.raises(ConnectionRefusedError):
        call(dial, SECRET, b"hello")
    assert calls == [1]


def test_who_is_refused_again_and_again_gives_up(port: Callable[..., Port], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_module, "_FIRST_PAUSE", 0.0)
    opened = port()
    with pytest.raises((EOFError, ConnectionResetError)):
        call(opened.dial, b"w" * 32, b"hello")
    assert opened.served.empty()


def test_an_impostor_is_not_told_the_first_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        heard = bytearray()

        def play() -> None:
            with impostor.accept()[0] as sock:
                sock.sendall(b"n" * 32)
                receive_exactly(sock, 64)
                sock.sendall(b"p" * 32)
                with suppress(ConnectionResetError):
                    heard.extend(sock.recv(1))

        thread = threading.Thread(target=play)
        thread.start()
        with pytest.raises(SlotProtocolError, match="does not know"):
            call(lambda: socket.create_connection(impostor.getsockname(), timeout=30), SECRET, b"hello")
        thread.join()
        assert heard == b""


def test_no_thread_is_spent_on_strangers(port: Callable[..., Port]) -> None:
    opened = port(strangers=50)
    before = threading.active_count()
    strangers = [opened.stranger() for _ in range(50)]
    assert threading.active_count() == before
    for stranger in strangers:
        stranger.close()
    wait_until(lambda: not opened.listener._peers, "all are forgotten")


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="this system does not tell who calls")
@pytest.mark.parametrize(("user", "served"), [("own", True), ("another", False)])
def test_through_a_unix_socket_only_processes_of_the_same_user_are_heard(
    monkeypatch: pytest.MonkeyPatch, user: str, served: bool
) -> None:
    if user == "another":
        monkeypatch.setattr(listener_module, "_ALWAYS_HEARD", ())
        monkeypatch.setattr(listener_module.os, "geteuid", lambda: os.getuid() + 1)
    with ExitStack() as stack:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(f"\0rekindle-test-{os.getpid()}-{user}")
        listening.listen()
        port = Port(stack, listening)

        def dial() -> socket.socket:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(30)
            sock.connect(port.address)
            return sock

        port.dial = dial  # type: ignore[method-assign]
        if served:
            assert port.friend() == b"hello"
        else:
            with dial() as sock:
                assert hung_up(sock)
