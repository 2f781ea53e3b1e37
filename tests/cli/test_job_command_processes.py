"""The commands about running jobs as processes: exit codes, pipes, signals, terminals, and what they import."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.base.process_identity import start_ticks
from rekindle.rest.discovery import Endpoint, publish
from support.command_line import rekindle, rekindle_command
from support.fake_rest import FakeJob, FakeRest, checkpoint, serving
from support.processes import wait_until

ORDERS = "5f1c".ljust(32, "0")
NEVER = 1_000_000


@pytest.fixture
def orders() -> FakeJob:
    return FakeJob(ORDERS, checkpoints=[checkpoint(7), checkpoint(9, "IN_PROGRESS", is_savepoint=True)])


@pytest.fixture
def rest(orders: FakeJob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeRest]:
    """Serve a job that is found on this machine."""
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))
    with serving(FakeRest(orders)) as server:
        pid = os.getpid()
        publish(Endpoint(pid=pid, start_ticks=start_ticks(pid), url=server.url, token=None, started=1))
        yield server


@pytest.mark.parametrize(
    ("command", "code", "keys"),
    [
        ("list", 0, {"jobs", "unreachable"}),
        ("checkpoints orders", 0, {"counts", "history", "latest", "summary"}),
        ("checkpoints orders 8", 3, {"error", "exit_code"}),
        ("savepoint 5f1c", 0, {"job_id", "job_name", "request_id", "savepoint"}),
        ("savepoint lost", 3, {"error", "exit_code"}),
        ("stop orders --drain", 0, {"drained", "job_id", "job_name", "savepoint", "status"}),
        (
            "cancel -s orders",
            0,
            {
                "deleted_checkpoint",
                "job_id",
                "job_name",
                "request_id",
                "retained_checkpoint",
                "savepoint",
                "status",
            },
        ),
        ("cancel orders -m 127.0.0.1:1", 4, {"error", "exit_code"}),
        ("stop", 2, {"error", "exit_code"}),
    ],
)
def test_each_ends_with_a_code_and_prints_one_document(rest: FakeRest, command: str, code: int, keys: set[str]) -> None:
    ended = rekindle(*command.split(), "--json")
    assert ended.code == code, ended.err
    assert set(ended.json()) == keys
    assert "Traceback" not in ended.err


def start(*arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(rekindle_command(*arguments), stdout=subprocess.PIPE, stderr=stderr, text=True)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("savepoint orders", "interrupted; job 'orders' continues, and so does the savepoint (request 77)"),
        ("stop orders", "interrupted; job 'orders' is still being stopped (request 77)"),
        ("cancel -s orders", "interrupted; job 'orders' is still being cancelled"),
    ],
)
def test_an_interrupt_ends_the_waiting_only(rest: FakeRest, orders: FakeJob, command: str, says: str) -> None:
    orders.polls = orders.ending = NEVER
    asked: list[None] = []
    orders.on_poll = lambda: asked.append(None)
    process = start(*command.split(), "--json")
    wait_until(lambda: len(asked) > 1, "it waits")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert says in errors
    assert '"exit_code": 130' in output
    assert "Traceback" not in errors
    assert len(rest.posted()) == 1, "nothing was asked of the job after the interrupt"


def test_the_end_of_the_process_while_it_is_waited_for_is_told(rest: FakeRest, orders: FakeJob) -> None:
    orders.polls = NEVER
    asked: list[None] = []

    def hang_up() -> None:
        asked.append(None)
        if len(asked) > 1:
            raise ConnectionAbortedError

    orders.on_poll = hang_up
    ended = rekindle("stop", "orders")
    assert ended.code == 4
    assert "the process of the job ended while the savepoint was being waited for" in ended.err


def test_progress_is_drawn_on_the_terminal_and_not_in_the_result(rest: FakeRest, orders: FakeJob) -> None:
    orders.polls = 3
    terminal, screen = pty.openpty()
    process = start("savepoint", "orders", stderr=screen)
    os.close(screen)
    output, _ = process.communicate(timeout=60)
    drawn = b""
    try:
        while chunk := os.read(terminal, 65536):
            drawn += chunk
    except OSError:  # the end of a terminal
        pass
    finally:
        os.close(terminal)
    assert (process.returncode, output) == (0, "/default/savepoint-1\n")
    assert b"Savepoint of orders" in drawn
    assert b"1/3" in drawn, "two subtasks are missing"


def test_a_reader_that_goes_away_is_no_error(rest: FakeRest) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(rekindle_command("list", "--json"), stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 1


@pytest.mark.parametrize("command", ["--help", "list", "savepoint orders", "checkpoints orders 7"])
def test_they_start_without_spark(rest: FakeRest, command: str) -> None:
    heavy = "'pyspark', 'pyarrow', 'pandas', 'numpy', 'uvicorn'"
    program = (
        "import sys\nfrom rekindle.cli import main\ntry:\n    main()\nfinally:\n"
        f"    sys.stderr.write(repr([name for name in ({heavy}) if name in sys.modules]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *command.split()], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.endswith("[]")
