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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import IO

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.config.configuration_environment import DYNAMIC_PROPERTIES
from rekindle.program.forwarded_signals import forwarded_number

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


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
    see ``rekindle.program.forwarded_signals``.

    Args:
        command: Its command line.
        environment: Its variables.
        output: Where its standard output goes; None: where this process's goes.
    """
    sys.stdout.flush()
    process = subprocess.Popen(command, env=environment, stdout=output)
    before = {number: signal.signal(number, _forwarded_to(process)) for number in _PASSED_ON}
    try:
        return as_exit_code(process.wait())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def as_exit_code(returncode: int) -> int:
    """Return the exit code of a process; that of one that a signal has ended is 128 and the signal."""
    return returncode if returncode >= 0 else 128 - returncode


def _forwarded_to(process: subprocess.Popen[bytes]) -> Callable[[int, FrameType | None], None]:
    def forward(number: int, frame: FrameType | None) -> None:
        if process.returncode is None:
            meaning = signal.Signals(number)
            other = forwarded_number(process.pid, meaning)
            if other is not None:
                process.send_signal(other)
            elif meaning is not signal.SIGINT:  # Ctrl-C reaches a program that does not listen to the other by itself
                process.send_signal(meaning)

    return forward
