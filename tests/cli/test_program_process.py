"""The process of a program: which signals reach it, also while it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rekindle.cli import program
from rekindle.cli.program import run_to_end
from rekindle.program.forwarded_signals import FORWARDED
from support.processes import wait_until

(PASSED_ON_INTERRUPT,) = [number for number, meaning in FORWARDED.items() if meaning is signal.SIGINT]


class FakeProcess:
    """A process that notes what is sent to it, and ends when the test says so."""

    def __init__(self, at_start: Callable[[], object], at_wait: Callable[[], object]) -> None:
        at_start()
        self._at_wait = at_wait
        self.pid = os.getpid()
        self.returncode: int | None = None
        self.sent: list[int] = []

    def send_signal(self, number: int) -> None:
        """Note a signal."""
        self.sent.append(number)

    def wait(self) -> int:
        """Wait for the end."""
        self._at_wait()
        self.returncode = -self.sent[0] if self.sent else 0
        return self.returncode


Run = Callable[..., tuple[int, FakeProcess]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run a fake process to its end; signals that the command does not handle are ignored here."""

    def run(at_start: Callable[[], object] = int, at_wait: Callable[[FakeProcess], object] = id) -> Any:
        made: list[FakeProcess] = []

        def start(*arguments: object, **options: object) -> FakeProcess:
            made.append(FakeProcess(at_start, lambda: at_wait(made[0])))
            return made[0]

        monkeypatch.setattr(program.subprocess, "Popen", start)
        return run_to_end(["x"], {}), made[0]

    monkeypatch.setattr(program, "is_in_foreground", lambda: False, raising=False)
    # The process is this one, which may listen: jobs of other tests have run in it.
    monkeypatch.setattr(program, "forwarded_number", lambda pid, meaning: None)
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    mine = {number: signal.signal(number, lambda number, frame: None) for number in numbers}
    yield run
    for number, handler in mine.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_the_process_is_started_is_passed_on(run: Run, number: signal.Signals) -> None:
    code, process = run(at_start=lambda: signal.raise_signal(number))
    assert process.sent == [number]
    assert code == 128 + number


def test_a_signal_that_comes_later_is_passed_on(run: Run) -> None:
    code, process = run(at_wait=lambda process: signal.raise_signal(signal.SIGTERM))
    assert process.sent == [signal.SIGTERM]
    assert code == 143


@pytest.mark.parametrize("early", [True, False])
def test_an_interrupt_is_remembered_until_the_process_listens(
    run: Run, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    asked: list[int] = []
    listens = threading.Event()

    def forwarded(pid: int, meaning: signal.Signals) -> int | None:
        asked.append(pid)
        return PASSED_ON_INTERRUPT if listens.is_set() else None

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # an impatient one, which is the same request until it is heard

    def begin_to_listen(process: FakeProcess) -> None:
        if not early:
            interrupt()
        wait_until(lambda: len(asked) > 2, "it is asked whether it listens", timeout=10)
        assert process.sent == []
        listens.set()
        wait_until(lambda: process.sent, "it is interrupted", timeout=10)

    monkeypatch.setattr(program, "forwarded_number", forwarded)
    monkeypatch.setattr(program, "_POLL_SECONDS", 0.001, raising=False)
    _, process = run(interrupt if early else int, begin_to_listen)
    assert process.sent == [PASSED_ON_INTERRUPT]


def test_ctrl_c_at_a_terminal_has_reached_the_process_already(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "is_in_foreground", lambda: True)
    threads = threading.active_count()

    def interrupt(process: FakeProcess) -> None:
        signal.raise_signal(signal.SIGINT)
        assert threading.active_count() == threads

    assert run(at_wait=interrupt)[1].sent == []


def test_handlers_are_put_back(run: Run) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    run()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


def test_what_is_ignored_here_is_ignored_by_the_process() -> None:
    asks = "import signal, sys; sys.exit(signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)"
    mine = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run_to_end([sys.executable, "-c", asks], dict(os.environ)) == 0
    finally:
        signal.signal(signal.SIGHUP, mine)


def test_a_process_without_a_terminal_is_not_in_its_foreground() -> None:
    asks = "import sys; from rekindle.cli.program import is_in_foreground; sys.exit(is_in_foreground())"
    assert subprocess.run([sys.executable, "-c", asks], start_new_session=True, timeout=60).returncode == 0


def test_a_process_at_a_terminal_is_in_its_foreground() -> None:
    asks = (
        "import os, sys; from rekindle.cli.program import is_in_foreground\n"
        "os.open(sys.argv[1], os.O_RDWR)  # which makes it the terminal of this session\n"
        "sys.exit(not is_in_foreground())"
    )
    ours, theirs = os.openpty()
    try:
        command = [sys.executable, "-c", asks, os.ttyname(theirs)]
        assert subprocess.run(command, start_new_session=True, timeout=60).returncode == 0
    finally:
        os.close(ours)
        os.close(theirs)
