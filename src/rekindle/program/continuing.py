"""The command line with which the job of this program goes on from a snapshot."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rekindle.config.configuration_environment import command_line_in
from rekindle.config.options import CoreOptions
from rekindle.config.secrets import arguments_shown, shown

RESTARTED = "REKINDLE_RESTARTED"
"""The variable by which ``rekindle run --restart-driver`` says that the log of the job ends with that command."""

_NOT_AGAIN = ("execution.state-recovery.", "execution.savepoint.")  # they were about the start that there was


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """Say how a program was started.

    Attributes:
        name: Its file, or its module; None: it has neither, as after ``python -c``.
        arguments: Its own arguments.
        module: Whether the name is that of a module.
        properties: The settings of the command line.
        restarted: Whether the command starts it again when its driver dies.
    """

    name: str | None
    arguments: Sequence[str] = ()
    module: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    restarted: bool = False

    def continued_from(self, path: str) -> str:
        """Return the command line that starts it again from a snapshot; secrets are not in it."""
        options = ["--restart-driver"] if self.restarted else []
        for key, value in self.properties.items():
            if key == CoreOptions.DEFAULT_PARALLELISM.key:
                options += ["-p", value]
            elif not key.startswith(_NOT_AGAIN):
                options += ["-D", f"{key}={shown(key, value)}"]
        arguments = arguments_shown(self.arguments)
        program = ["PROGRAM"] if self.name is None else [*["--module"][: self.module], self.name, *arguments]
        return shlex.join(["rekindle", "run", "-s", path, *options, *program])


def this_program() -> StartedProgram:
    """Return how this process was started."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = sys.argv[0] if sys.argv else ""
    properties = command_line_in(os.environ).to_dict()
    restarted = log_ends_with_command()
    if restarted:
        properties = {key: value for key, value in properties.items() if not key.startswith("high-availability.")}
    if spec is not None:
        return StartedProgram(spec.name.removesuffix(".__main__"), sys.argv[1:], True, properties, restarted)
    known = name if os.path.isfile(name) else None
    return StartedProgram(known, sys.argv[1:], False, properties, restarted)


def log_ends_with_command() -> bool:
    """Return whether the log of high availability is that of a command, and gone when the command has ended."""
    return bool(os.environ.get(RESTARTED))
