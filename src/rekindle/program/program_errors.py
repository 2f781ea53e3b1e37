"""How a program that ``rekindle run`` started ends with an error of Rekindle's: in words, and told to the command.

A user's own exceptions keep their traceback, and so do bugs of Rekindle's. What Rekindle explains needs none: its
frames are those of Rekindle, and say nothing to the user beyond the line of the program that they lead to.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

from rekindle.base.printable import printable
from rekindle.exceptions import InvalidCheckpointTransitionError, RekindleError

RUN_REPORT = "REKINDLE_RUN_REPORT"
"""The variable by which the command names the file for its report."""

LOG_FILE = "REKINDLE_LOG_FILE"
"""The variable by which the command says where the output of a detached program goes."""

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def explain_errors() -> None:
    """Let uncaught errors be shown so, if a command runs this program."""
    if os.environ.get(RUN_REPORT) and sys.excepthook is sys.__excepthook__:
        sys.excepthook = show_error


def show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show an uncaught error; one of Rekindle's is reported as well. Ctrl-C is none, and needs no words here."""
    if isinstance(error, KeyboardInterrupt):
        return
    if not isinstance(error, RekindleError):
        sys.__excepthook__(kind, error, trace)
        return
    from rekindle.program.run_report import ErrorReport, write_line  # only where something went wrong

    write_line(os.environ[RUN_REPORT], ErrorReport.of(error).to_line())
    if isinstance(error, InvalidCheckpointTransitionError):
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(f"error: {printable(str(error))}\n{_place_in_program(trace)}")


def _place_in_program(trace: TracebackType | None) -> str:
    """Name the line of the program that led into Rekindle."""
    place = ""
    for frame in traceback.extract_tb(trace):
        if frame.filename.startswith(_PACKAGE):
            break
        if not frame.filename.startswith("<"):  # those of runpy, for a module
            place = f"  at {frame.filename}, line {frame.lineno}: {frame.line}\n"
    return place
