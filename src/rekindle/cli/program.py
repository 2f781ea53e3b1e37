"""A user's program as a process of its own, so that it runs exactly as ``python program.py`` does.

Its classes are those of ``__main__``, its directory is where it imports from, and what it does to its process (signals,
``sys.exit``, ``os._exit``) it does not do to the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import IO

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.config.configuration_environment import DYNAMIC_PROPERTIES
from rekindle.program.forwarded_signals import forwarded_number

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Program:
    """Name a program and what it is run with.

    Attributes:
        name: The path of its file or, for a module, its dotted name.
        arguments: Its own arguments.
        module: Whether it is a module.
        properties: The settings of the command line.
    """

    name: str
    arguments: tuple[str, ...]
    module: bool
    properties: Mapping[str, str]

    def command(self) -> list[str]:
        """Return the command line of its process.

        Raises:
            CommandError: There is no such file.
        """
        if self.module:
            return [sys.executable, "-m", self.name, *self.arguments]
        if not os.path.exists(self.name):
            raise CommandError(f"there is no program {self.name!r}: give the path of a Python file", ExitCode.USAGE)
        return [sys.executable, self.name, *self.arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the variables of its process."""
        return {**os.environ, DYNAMIC_PROPERTIES: json.dumps(dict(self.properties)), **variables}


def run_to_end(command: Sequence[str], environment: Mapping[str, str], output: IO[str] | None = None) -> int:
    """Run a process in the foreground; give its exit code, as a shell would.

    Requests to end are passed on. What was sent to the group of both, as Ctrl-C is, has reached the process already:
    see ``rekindle.program.forwarded_signals``. Signals that are ignored, as SIGHUP is after ``nohup``, stay ignored.

    Args:
        command: Its command line.
        environment: Its variables.
        output: Where its standard output goes; None: where this process's goes.
    """
    sys.stdout.flush()
    passed_on = _PassedOn()
    watched = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, passed_on.receive) for number in watched}
    try:
        process = subprocess.Popen(command, env=environment, stdout=output)
        passed_on.begin(process)
        return as_exit_code(process.wait())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def as_exit_code(returncode: int) -> int:
    """Return the exit code of a process; that of one that a signal has ended is 128 and the signal."""
    return returncode if returncode >= 0 else 128 - returncode


class _PassedOn:
    """Pass signals on to a process: those that come before it is there, as soon as it is."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[signal.Signals] = []
        self._interrupted = False  # and the process did not listen yet

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Pass a signal on. It may be called while the process is being started."""
        if self._process is None:
            self._early.append(signal.Signals(number))
        else:
            self._pass_on(self._process, signal.Signals(number))

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Pass on what has come, and what comes."""
        self._process = process
        while self._early:
            self._pass_on(process, self._early.pop(0))

    def _pass_on(self, process: subprocess.Popen[bytes], meaning: signal.Signals) -> None:
        if process.returncode is not None:
            return
        other = forwarded_number(process.pid, meaning)
        if other is not None:
            process.send_signal(other)
        elif meaning is not signal.SIGINT:
            process.send_signal(meaning)
        elif not self._interrupted and not is_in_foreground():
            # It may have been sent to the group, and a process that ends by it is not to be interrupted at its end.
            self._interrupted = True
            threading.Thread(target=self._interrupt_later, args=(process,), name="interrupt", daemon=True).start()

    def _interrupt_later(self, process: subprocess.Popen[bytes]) -> None:
        """Pass Ctrl-C on when the process listens."""
        while process.returncode is None:
            other = forwarded_number(process.pid, signal.SIGINT)
            if other is not None:
                self._interrupted = False
                process.send_signal(other)
                return
            time.sleep(_POLL_SECONDS)


def is_in_foreground() -> bool:
    """Return whether this process is in the foreground of its terminal, which sends Ctrl-C to all processes there."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
