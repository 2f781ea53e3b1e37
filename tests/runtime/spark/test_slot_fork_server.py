"""Slots that are forked: the same as those with a Python of their own, and the server ends with who could ask it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from rekindle.runtime.master.slots.control_server import ControlServer
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark import slot_fork_server
from rekindle.runtime.wire import messages as m
from support.processes import all_pids, is_slot, wait_until

SECRET = b"s" * 32
NEVER = 3_600_000
STARTS_A_SLOT = """\
import os, sys, msgspec
from rekindle.exceptions import SlotLostError
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark import slot_fork_server, slot_starter

def no_python(deployment, paths):
    raise AssertionError("it was not forked")

slot_starter._run_slot = no_python
slot_starter._START_SECONDS = float(sys.argv[1])
slot_fork_server.start_fork_server()
if os.fork() == 0:  # as a worker is
    said = "started"
    try:
        slot_fork_server.fork_slot(b"no deployment", [], 600)  # after which the server has imported what slots need
        deployment = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=SlotDeployment)
        slot_starter.start_slot(deployment, [])
    except SlotLostError as error:
        said = str(error)
    except BaseException as error:
        said = f"unexpected: {error!r}"
    print(said, end="\\0", flush=True)
os.close(0)
os.read(int(os.environ["UNTIL"]), 1)
os._exit(0)
"""


class Listener:
    """Hear nothing."""

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        pass

    def slot_lost(self, slot: int, why: str) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ControlServer]:
    server = ControlServer("127.0.0.1", 0, SECRET, NEVER, NEVER)
    server.begin_attempt(4, Listener())
    yield server
    server.close()


def deployment(port: int) -> bytes:
    return msgspec.msgpack.encode(SlotDeployment(4, 1, SECRET, "127.0.0.1", port, False, [], NEVER, NEVER, b""))


@contextmanager
def starting(deployment: bytes, seconds: float = 60) -> Iterator[tuple[int, str]]:
    """Start a slot from a worker of a daemon; yield the group of these processes and what became of the slot."""
    until, end = os.pipe()
    os.set_inheritable(until, True)
    daemon = subprocess.Popen(
        [sys.executable, "-c", STARTS_A_SLOT, str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "UNTIL": str(until)},
        pass_fds=[until],
        process_group=0,
    )
    os.close(until)
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    with daemon:
        daemon.stdin.write(deployment)
        daemon.stdin.close()
        said = b""
        while not said.endswith(b"\0"):
            more = daemon.stdout.read1()
            assert more, f"the worker has died; it said {said!r}"
            said += more
        yield daemon.pid, said.decode().rstrip("\0")
        os.close(end)


def group(leader: int) -> list[int]:
    found = []
    for pid in all_pids():
        try:
            found += [pid] if os.getpgid(pid) == leader else []
        except ProcessLookupError:
            continue
    return found


def test_a_slot_that_is_forked_has_registered_and_is_on_its_own(server: ControlServer) -> None:
    with starting(deployment(server.port)) as (daemon, said):
        assert said == "started"
        (connection,) = server.connections().values()
        registration = connection.registration
        assert (registration.attempt, registration.slot, registration.host) == (4, 1, socket.gethostname())
        assert len(group(daemon)) == 3, "the daemon, its worker, the fork server"
        slot = registration.pid
        assert is_slot(slot)
        assert os.getsid(slot) not in (daemon, os.getsid(0))
    wait_until(lambda: not group(daemon), "the fork server has ended with those who could ask it")
    assert slot in all_pids()
    server.hang_up()
    wait_until(lambda: slot not in all_pids(), "the slot has ended")


def test_one_that_cannot_reach_the_job_master_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with starting(deployment(port)) as (_, said):
        assert "could not start slot 1 with" in said
        assert f"the job master at 127.0.0.1:{port} cannot be reached" in said
        assert "its process ended with exit code 1 before it had registered with the job master" in said


def test_one_that_does_not_get_on_is_killed() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,  # takes the connection, and says nothing
        starting(deployment(silent.getsockname()[1]), seconds=5) as (_, said),
    ):
        assert said.endswith("it said:\nnothing within 5 s, and was killed")


# --- when it cannot: the slot gets a Python of its own ---


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Be the fork server of this process; yield its end of the socket."""
    server, own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    monkeypatch.setattr(slot_fork_server, "_requests", own)
    with server, own:
        yield server


def test_there_may_be_none() -> None:
    assert slot_fork_server.fork_slot(b"", [], 1) is None


def test_it_may_be_gone(channel: socket.socket) -> None:
    channel.close()
    assert slot_fork_server.fork_slot(b"", [], 1) is None


def test_it_may_go_with_a_request_in_its_hands(channel: socket.socket) -> None:
    def take_and_go() -> None:
        _, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.close()

    thread = threading.Thread(target=take_and_go)
    thread.start()
    assert slot_fork_server.fork_slot(b"x" * 1_000_000, [], 60) is None
    thread.join()


def test_the_request_may_be_too_large_for_it(channel: socket.socket) -> None:
    assert slot_fork_server.fork_slot(b"", ["/nowhere" * 1_000] * 100, 60) is None


def test_the_environment_may_be_odd(channel: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environb, b"ODD", b"caf\xe9")  # type: ignore[misc]
    assert slot_fork_server.fork_slot(b"job", ["/one", "/two"], 0) is None, "it does not answer at all"
    request, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 3)
    told = msgspec.msgpack.decode(request, type=slot_fork_server.ForkRequest)
    assert told.environment[b"ODD"] == b"caf\xe9"
    assert told.environment[b"PYTHONPATH"] == b"/one:/two"
    assert os.read(descriptors[0], 100) == b"job"
    for descriptor in descriptors:
        os.close(descriptor)
