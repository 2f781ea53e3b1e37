"""The server on a real socket: where it listens, what it does with clients that misbehave, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.rest import connections
from rekindle.rest import server as server_module
from rekindle.rest.app import _AT_ONCE
from rekindle.rest.discovery import discovered
from rekindle.rest.server import RestServer, listen
from rekindle.rest.serving import rest_interface
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.running_jobs import RunningJobs, running_jobs
from rekindle.runtime.master.slots.slot_metrics import SlotReadings
from support.processes import wait_until
from support.rest_jobs import JOB, FakeMaster


@pytest.fixture
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def jobs(state_directory: Path) -> Iterator[RunningJobs]:
    jobs = RunningJobs()
    yield jobs
    jobs.close()


def started(
    jobs: RunningJobs, settings: RestSettings | None = None, tell: Callable[[str], None] | None = None
) -> RestServer:
    jobs.register(FakeMaster().run(), rest_interface(settings or RestSettings(ports=(0,)), tell))
    assert isinstance(jobs.server, RestServer)
    assert jobs.server.wait_until_ready(30)
    return jobs.server


def address(server: RestServer | str) -> tuple[str, int]:
    url = server if isinstance(server, str) else server.url
    assert url is not None
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host.strip("[]"), int(port)


def ask(server: RestServer | str, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, Any]:
    client = http.client.HTTPConnection(*address(server), timeout=30)
    try:
        client.request(method, path, body, headers)
        response = client.getresponse()
        return response.status, json.loads(response.read())
    finally:
        client.close()


def raw(server: RestServer, data: bytes) -> bytes:
    """Send bytes, and read until the server hangs up."""
    with socket.create_connection(address(server), timeout=30) as client:
        client.sendall(data)
        received = b""
        while part := client.recv(1 << 16):
            received += part
        return received


def test_it_answers_and_is_found(jobs: RunningJobs) -> None:
    server = started(jobs)
    assert ask(server, "GET", f"/jobs/{JOB}/status") == (200, {"status": "RUNNING"})
    (endpoint,) = discovered()
    assert (endpoint.pid, endpoint.url, endpoint.token) == (os.getpid(), server.url, None)


def test_who_starts_it_is_told_where_it_is_and_nobody_else(jobs: RunningJobs) -> None:
    told: list[str] = []
    server = started(jobs, tell=told.append)
    jobs.register(FakeMaster(), rest_interface(RestSettings(), told.append))
    assert told == [server.url]


def test_the_address_that_is_told_proves_who_opens_it(jobs: RunningJobs) -> None:
    told: list[str] = []
    server = started(jobs, RestSettings(ports=(0,), token="a+b", made_up=True), told.append)
    assert told == [f"{server.url}/?token=a%2Bb"]
    assert ask(server, "GET", "/jobs")[0] == 401
    assert ask(server, "GET", "/jobs", Authorization="Bearer a+b")[0] == 200


@pytest.mark.parametrize("settings", [{"token": "mine"}, {"token": "x", "made_up": True, "bind_address": "0.0.0.0"}])
def test_a_token_that_others_know_or_could_use_elsewhere_is_not_told(jobs: RunningJobs, settings: Any) -> None:
    told: list[str] = []
    server = started(jobs, RestSettings(ports=(0,), **settings), told.append)
    assert told == [server.url]


def test_it_answers_a_request_with_a_body(jobs: RunningJobs) -> None:
    server = started(jobs)
    body = json.dumps({"target-directory": "/d", "triggerId": "0" * 32})
    headers = {"Content-Type": "application/json"}
    assert ask(server, "POST", f"/jobs/{JOB}/savepoints", body, **headers) == (202, {"request-id": "0" * 32})
    job = jobs.find(JOB)
    assert job is not None
    assert job._master is not None
    job._master.savepoint.set_result("/d/s")  # type: ignore[attr-defined]
    status, answer = ask(server, "GET", f"/jobs/{JOB}/savepoints/{'0' * 32}")
    assert (status, answer["operation"]) == (200, {"location": "/d/s"})


def test_who_asks_for_the_head_gets_no_body(jobs: RunningJobs) -> None:
    received = raw(started(jobs), b"HEAD /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert re.search(rb"content-length: [1-9]\d", head)
    assert body == b""


def test_it_is_gone_after_the_end(jobs: RunningJobs, state_directory: Path) -> None:
    before = threading.enumerate()
    server = started(jobs)
    where = address(server)
    jobs.close()
    assert list(state_directory.iterdir()) == []
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(where, timeout=30)
    assert not [thread for thread in threading.enumerate() if thread.name == "rest-server" and thread not in before]


def test_all_jobs_of_a_process_share_one_server(jobs: RunningJobs) -> None:
    server = started(jobs)
    jobs.register(FakeMaster("f" * 32).run(), rest_interface(RestSettings(ports=(0,))))
    assert jobs.server is server
    assert len(ask(server, "GET", "/jobs")[1]["jobs"]) == 2


def test_it_does_not_start_where_it_is_switched_off(jobs: RunningJobs) -> None:
    jobs.register(FakeMaster(), rest_interface(RestSettings(enabled=False)))
    jobs.register(FakeMaster("f" * 32))
    assert jobs.server is None


def test_it_leaves_the_handling_of_signals_alone(jobs: RunningJobs) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    server = started(jobs)
    ask(server, "GET", "/jobs")
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_server_that_cannot_start_harms_nobody(jobs: RunningJobs, caplog: pytest.LogCaptureFixture) -> None:
    jobs.register(FakeMaster(), rest_interface(RestSettings(bind_address="192.0.2.1", token="x")))
    assert isinstance(jobs.server, RestServer)
    assert not jobs.server.wait_until_ready(30)
    wait_until(lambda: "the jobs continue without it" in caplog.text, "it says so")


def test_it_is_found_by_nobody_where_its_file_cannot_be_written(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (state_directory / "file").write_text("")
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(state_directory / "file"))
    jobs = RunningJobs()
    try:
        assert ask(started(jobs), "GET", "/jobs")[0] == 200
        assert "cannot be found by commands on this machine" in caplog.text
    finally:
        jobs.close()


# --- where it listens ---


def test_the_next_port_is_taken_where_one_is_busy() -> None:
    with listen("127.0.0.1", (0,)) as busy, listen("127.0.0.1", (0,)) as then_free:
        taken, free = busy.getsockname()[1], then_free.getsockname()[1]
        then_free.close()
        with listen("127.0.0.1", (taken, free)) as found:
            assert found.getsockname()[1] == free


def test_any_port_is_taken_where_all_are_busy() -> None:
    with listen("127.0.0.1", (0,)) as busy:
        taken = busy.getsockname()[1]
        with listen("127.0.0.1", (taken,)) as found:
            assert found.getsockname()[1] != taken


def test_by_default_it_is_not_reached_from_elsewhere(jobs: RunningJobs) -> None:
    assert address(started(jobs))[0] == "127.0.0.1"


def test_bound_wider_it_wants_the_token_of_its_file(jobs: RunningJobs, caplog: pytest.LogCaptureFixture) -> None:
    server = started(jobs, RestSettings(bind_address="0.0.0.0", ports=(0,), token="the-token"))
    (endpoint,) = discovered()
    assert endpoint.token == "the-token"
    assert endpoint.url.startswith("http://127.0.0.1:")
    assert ask(server, "GET", "/jobs")[0] == 401
    assert ask(server, "GET", "/metrics")[0] == 401
    assert ask(server, "GET", "/jobs", Authorization="Bearer the-token")[0] == 200
    assert "the-token" not in caplog.text
    assert f"{os.getpid()}.json" in caplog.text


def test_the_file_with_the_token_is_the_owners_alone(jobs: RunningJobs, state_directory: Path) -> None:
    started(jobs, RestSettings(ports=(0,), token="the-token"))
    assert stat.S_IMODE((state_directory / f"{os.getpid()}.json").stat().st_mode) == 0o600


# --- clients that misbehave ---

POST = f"POST /jobs/{JOB}/savepoints HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n".encode()


def test_what_is_no_request_is_refused(jobs: RunningJobs) -> None:
    assert raw(started(jobs), b"\x16\x03\x01 this is no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_headers_without_end_are_refused(jobs: RunningJobs) -> None:
    received = raw(started(jobs), b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"y" * 100_000)
    assert received.startswith(b"HTTP/1.1 4")


def test_a_body_that_lies_about_its_length_is_refused_before_it_comes(jobs: RunningJobs) -> None:
    assert raw(started(jobs), POST + b"Content-Length: 99999999\r\n\r\n").startswith(b"HTTP/1.1 413")


def test_a_body_without_end_is_cut_off(jobs: RunningJobs) -> None:
    server = started(jobs, RestSettings(ports=(0,), max_content_length=1_000))
    head = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    assert raw(server, head + b"1000\r\n" + b" " * 0x1000 + b"\r\n").startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("sent", [b"", b"GET /jobs HTT", b"GET /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_client_that_does_not_finish_its_request_is_cut_off(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    assert raw(started(jobs), sent) == b""


def test_a_head_that_comes_bit_by_bit_after_an_answer_is_not_waited_for(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    client = http.client.HTTPConnection(*address(started(jobs)), timeout=30)
    with closing(client):
        client.request("GET", "/jobs")
        assert client.getresponse().read()
        client.sock.settimeout(0.02)
        for _ in range(500):
            try:
                client.sock.sendall(b"G")
                assert client.sock.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            return
        pytest.fail("it is still open")


def test_a_request_whose_answer_takes_its_time_is_not_cut_off(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(FakeMaster):
        def read_metrics(self) -> SlotReadings:
            time.sleep(0.5)
            return super().read_metrics()

    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    jobs.register(Slow().run(), rest_interface(RestSettings(ports=(0,))))
    assert isinstance(jobs.server, RestServer)
    assert jobs.server.wait_until_ready(30)
    assert ask(jobs.server, "GET", f"/jobs/{JOB}")[0] == 200


def test_what_clients_do_wrong_is_not_logged(jobs: RunningJobs, caplog: pytest.LogCaptureFixture) -> None:
    server = started(jobs)
    caplog.clear()
    raw(server, b"\x16\x03\x01 this is no HTTP\r\n\r\n")
    raw(server, REQUEST.replace(b"close", b"upgrade, close\r\nUpgrade: something"))
    assert caplog.text == ""


REQUEST = b"GET /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def test_with_too_many_connections_the_one_that_was_idle_for_longest_has_to_go(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_MAX_CONNECTIONS", 3)
    server = started(jobs)
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address(server), timeout=30)) for _ in range(3)]
        assert raw(server, REQUEST).startswith(b"HTTP/1.1 200")
        with suppress(ConnectionResetError):
            assert idle[0].recv(1) == b""
        for rest in idle[1:]:
            rest.sendall(REQUEST)
            assert rest.recv(12) == b"HTTP/1.1 200"


def test_more_requests_at_a_time_than_allowed_are_turned_away(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_MAX_CONNECTIONS", 3)
    server = started(jobs)
    with ExitStack() as stack:
        for _ in range(3):
            busy = stack.enter_context(socket.create_connection(address(server), timeout=30))
            busy.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n")
            assert busy.recv(12) == b"HTTP/1.1 100"
        assert raw(server, REQUEST).startswith(b"HTTP/1.1 503")
        assert raw(server, REQUEST.replace(b"/jobs", b"/healthz")).startswith(b"HTTP/1.1 200"), "the driver is alive"
    wait_until(lambda: raw(server, REQUEST).startswith(b"HTTP/1.1 200"), "there is room again")


def test_requests_to_other_hosts_are_refused(jobs: RunningJobs) -> None:
    assert ask(started(jobs), "GET", "/jobs", Host="evil.example")[0] == 403


def test_many_requests_at_once_are_all_answered(jobs: RunningJobs) -> None:
    server = started(jobs)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(server, "GET", "/jobs")[0])) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == [200] * 30


# --- processes ---

FEW_DESCRIPTORS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
"""

PROGRAM = """
import os, sys
sys.path[:0] = {path!r}
from rekindle.rest.serving import rest_interface
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.running_jobs import running_jobs
from support.rest_jobs import FakeMaster

jobs, master = running_jobs(), FakeMaster().run()
jobs.register(master, rest_interface(RestSettings(ports=(0,))))
assert jobs.server.wait_until_ready(30)
print(sorted(os.listdir(os.environ["REKINDLE_STATE_DIR"])), flush=True)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    path = [str(Path(__file__).parents[1])]
    text = PROGRAM.format(path=path) + program
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)


def test_a_program_ends_at_once_and_leaves_nothing_behind(state_directory: Path) -> None:
    done = run("")
    assert (done.returncode, done.stderr) == (0, "")
    assert ".json" in done.stdout
    assert list(state_directory.iterdir()) == []


@pytest.mark.parametrize("ends_after", [None, 0.85], ids=["a driver that goes on", "a driver that ends meanwhile"])
def test_a_flood_of_connections_takes_neither_all_descriptors_nor_the_log(
    state_directory: Path, ends_after: float | None
) -> None:
    """asyncio tries to accept again after a second, also where the server has ended by then."""
    text = FEW_DESCRIPTORS + PROGRAM.format(path=[str(Path(__file__).parents[1])]) + "sys.stdin.read()"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", text], text=True, **streams) as driver, ExitStack() as stack:
        assert driver.stdout is not None
        driver.stdout.readline()
        (endpoint,) = discovered()
        for _ in range(200 if ends_after is None else 100):
            stack.enter_context(socket.create_connection(address(endpoint.url), timeout=30))
        if ends_after is None:
            assert ask(endpoint.url, "GET", f"/jobs/{JOB}/status") == (200, {"status": "RUNNING"})
        else:
            time.sleep(ends_after)
        _, said = driver.communicate("")
    assert driver.returncode == 0
    lines = said.splitlines()
    assert len(lines) <= 10, lines
    assert any("could not be accepted (EMFILE" in line for line in lines)


def test_a_server_that_has_hardly_begun_does_not_hold_up_the_end(state_directory: Path) -> None:
    path = [str(Path(__file__).parents[1])]
    program = PROGRAM.format(path=path).partition("assert")[0]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(state_directory.iterdir()) == []


def test_a_forked_child_is_not_taken_for_the_driver(state_directory: Path) -> None:
    done = run(
        """
url = jobs.server.url
child = os.fork()
if child == 0:
    assert running_jobs() is not jobs
    assert running_jobs().all() == []
    assert running_jobs().server is None
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(sorted(os.listdir(os.environ["REKINDLE_STATE_DIR"])), flush=True)
import urllib.request
print(urllib.request.urlopen(url + "/jobs").status)
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    before, after, status = done.stdout.splitlines()
    assert before == after
    assert status == "200"


def test_a_program_that_ends_waits_for_who_stopped_it(state_directory: Path) -> None:
    program = (
        PROGRAM
        + """
import time
while not master.asked:
    time.sleep(0.01)
master.savepoint.set_result("/d/savepoint-1")  # and the program ends
"""
    )
    text = program.format(path=[str(Path(__file__).parents[1])])
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        driver.stdout.readline()
        (endpoint,) = discovered()
        body = json.dumps({"targetDirectory": "/d"})
        status, begun = ask(endpoint.url, "POST", f"/jobs/{JOB}/stop", body, **{"Content-Type": "application/json"})
        assert status == 202
        path = f"/jobs/{JOB}/savepoints/{begun['request-id']}"
        wait_until(lambda: ask(endpoint.url, "GET", path)[1]["operation"] is not None, "it says where the savepoint is")
        assert driver.wait(60) == 0
    assert list(state_directory.iterdir()) == []


def test_this_process_has_one_registry() -> None:
    assert running_jobs() is running_jobs()


def test_whether_the_driver_is_alive_is_answered_while_other_requests_wait(
    jobs: RunningJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, released = threading.Semaphore(0), threading.Event()

    def statistics(master: FakeMaster) -> CheckpointsOverview:
        inside.release()
        assert released.wait(30)
        return master.overview

    monkeypatch.setattr(FakeMaster, "checkpoint_statistics", statistics)
    server = started(jobs)
    answers: list[int] = []
    path = f"/jobs/{JOB}/checkpoints"
    threads = [threading.Thread(target=lambda: answers.append(ask(server, "GET", path)[0])) for _ in range(30)]
    for thread in threads:
        thread.start()
    try:
        assert all(inside.acquire(timeout=30) for _ in range(_AT_ONCE))
        assert ask(server, "GET", "/healthz")[0] == 200
        assert answers == []
    finally:
        released.set()
        for thread in threads:
            thread.join(30)
    assert answers == [200] * 30
