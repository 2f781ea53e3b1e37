"""Slots that die before they are of any use: whoever started them learns it at once, and why."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.datastream import MapFunction, StreamExecutionEnvironment
from rekindle.exceptions import JobExecutionError, SlotLostError
from rekindle.runtime.master.slots.control_server import ControlServer
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark import slot_starter
from rekindle.runtime.spark.slot_starter import start_slot
from rekindle.runtime.wire import messages as m
from support.in_process_job import collect
from support.slot_processes import SlotProcesses, slot_processes

SECRET = b"s" * 32
NEVER = 3_600_000


@pytest.fixture
def server() -> Iterator[ControlServer]:
    server = ControlServer("127.0.0.1", 0, SECRET, NEVER, NEVER)
    yield server
    server.close()


def deployment(port: int, secret: bytes = SECRET) -> SlotDeployment:
    return SlotDeployment(4, 1, secret, "127.0.0.1", port, False, [], NEVER, NEVER, b"")


class Listener:
    """Hear nothing."""

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        pass

    def slot_lost(self, slot: int, why: str) -> None:
        pass


def with_site(directory: Path, code: str) -> list[str]:
    """Let every Python of the slot begin with some code."""
    (directory / "sitecustomize.py").write_text(code)
    return [str(directory)]


def test_a_slot_that_is_started_has_registered(server: ControlServer) -> None:
    server.begin_attempt(4, Listener())
    start_slot(deployment(server.port), [])
    (registration,) = (connection.registration for connection in server.connections().values())
    assert (registration.attempt, registration.slot, registration.host) == (4, 1, socket.gethostname())
    server.hang_up()


def test_a_slot_that_freezes_before_it_has_registered_is_killed(
    server: ControlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.begin_attempt(4, Listener())
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: Any, **settings: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*command, **settings))
        return started[-1]

    monkeypatch.setattr(slot_starter, "_START_SECONDS", 1.0)
    monkeypatch.setattr(slot_starter, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": start}))
    freezes = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    with pytest.raises(SlotLostError, match=r"(?s)could not start slot 1 .*nothing within 1 s, and was killed"):
        start_slot(deployment(server.port), with_site(tmp_path, freezes))
    assert [process.returncode for process in started] == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os._exit(0)", "nothing, and ended with exit code 0"),
        ("import sys; sys.modules['msgspec'] = None", "ModuleNotFoundError"),
        (
            "import os; os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 9))",
            "its process was killed by SIGKILL before it had registered with the job master",
        ),
        ("import sys; sys.stderr.write('x' * 100_000)\nsys.exit('the end')", "characters before this were cut"),
    ],
    ids=["exit", "import", "killed", "many words"],
)
def test_a_slot_that_dies_before_it_has_registered_is_missed_at_once_with_what_it_said(
    server: ControlServer, tmp_path: Path, code: str, said: str
) -> None:
    server.begin_attempt(4, Listener())
    with pytest.raises(SlotLostError) as caught:
        start_slot(deployment(server.port), with_site(tmp_path, code))
    assert caught.value.slot == 1
    message = str(caught.value)
    assert message.startswith(f"could not start slot 1 with {sys.executable} on {socket.gethostname()}; it said:\n")
    assert said in message
    assert len(message) < 5_000


def test_a_slot_that_cannot_reach_the_job_master_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(SlotLostError, match=rf"the job master at 127\.0\.0\.1:{port} cannot be reached: .*refused"):
        start_slot(deployment(port), [])


@pytest.mark.parametrize(("attempt", "secret"), [(5, SECRET), (4, b"w" * 32)], ids=["attempt", "secret"])
def test_a_slot_that_is_turned_away_says_so(server: ControlServer, attempt: int, secret: bytes) -> None:
    server.begin_attempt(attempt, Listener())
    with pytest.raises(SlotLostError, match=r"hung up: it does not know this slot, or its attempt is over|reached: "):
        start_slot(deployment(server.port, secret), [])


# --- in a job ---


class DiesWhenItArrives(MapFunction):
    """End the process that unpickles it."""

    def map(self, value: int) -> int:
        return value

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (9,)


class CannotArrive(MapFunction):
    """Raise where it is unpickled."""

    def map(self, value: int) -> int:
        return value

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _refuse, ("not here",)


def _refuse(why: str) -> object:
    raise ImportError(why)


@pytest.fixture
def cluster() -> Iterator[SlotProcesses]:
    with slot_processes() as cluster:
        yield cluster


def failure_of(cluster: SlotProcesses, function: MapFunction) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    collect(env.from_collection([1, 2, 3]).map(function))
    master = cluster.submit(env)
    with pytest.raises(JobExecutionError) as caught:
        master.result.result(60)
    assert master.status is JobStatus.FAILED
    return str(caught.value)


def test_a_slot_that_dies_while_it_loads_the_program_fails_the_attempt_at_once(cluster: SlotProcesses) -> None:
    assert "slot 0 was lost: its process ended or its connection broke" in failure_of(cluster, DiesWhenItArrives())


def test_a_program_that_cannot_be_loaded_fails_the_attempt_with_its_error(cluster: SlotProcesses) -> None:
    assert "ImportError: not here" in failure_of(cluster, CannotArrive())


def test_a_slot_that_cannot_be_started_fails_the_attempt_with_what_it_said(
    cluster: SlotProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = with_site(tmp_path, "import sys; sys.exit('not on this machine')")
    monkeypatch.setattr("support.slot_processes.start_slot", lambda each, _: slot_starter.start_slot(each, paths))
    failure = failure_of(cluster, DiesWhenItArrives())
    assert "could not start slot 0" in failure
    assert "not on this machine" in failure
