"""Crashes a connector between two calls, or at a line in the middle of one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any


class Crashed(BaseException):
    """The process of the connector is gone; no ``except Exception`` of the connector's own keeps it alive."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Name a moment in a run.

    Attributes:
        call: Before which call of the connector, counted from 1 - or in which.
        line: Before which line that the call runs, counted from 1; None: before the call.
        closes: Whether functions are closed, as after an exception, or vanish, as with their process.
    """

    call: int
    line: int | None = None
    closes: bool = False

    def __str__(self) -> str:
        return f"{self.call}{'' if self.line is None else f'.{self.line}'}{'c' if self.closes else ''}"

    @classmethod
    def parse(cls, text: str) -> CrashPoint:
        """Read what ``str`` wrote."""
        call, _, line = text.removesuffix("c").partition(".")
        return cls(int(call), int(line) if line else None, text.endswith("c"))


class CountedCalls:
    """Run the calls of a connector; crash at one of them.

    Attributes:
        lines: How many lines of the connector's own each call ran, from the first call on; 0 if they were not counted.
        closes: Whether functions are closed after the crash.
    """

    def __init__(self, kinds: tuple[type, ...], crash: CrashPoint | None = None) -> None:
        """Make a counter.

        Args:
            kinds: Only lines of methods of these classes and their subclasses count.
            crash: When to crash; None: never, and lines are counted.
        """
        self.lines: list[int] = []
        self.closes = crash is not None and crash.closes
        self._kinds = kinds
        self._crash = crash

    def run(self, what: str, call: Callable[[], Any]) -> Any:
        """Run a call.

        Args:
            what: What it does, for people.
            call: The call.

        Raises:
            Crashed: It is the moment to crash.
        """
        crash = self._crash
        self.lines.append(0)
        if crash is None:
            return self._traced(call, None)
        if crash.call != len(self.lines):
            return call()
        if crash.line is None:
            raise Crashed(f"before {what}")
        return self._crashed_at(crash.line, what, call)

    def _crashed_at(self, line: int, what: str, call: Callable[[], Any]) -> Any:
        """Run a call that crashes, whatever the connector does about it."""
        try:
            result = self._traced(call, line)
        except (Exception, Crashed) as error:
            if self.lines[-1] < line:
                raise
            raise Crashed(f"while {what}, {error}" if isinstance(error, Crashed) else f"while {what}") from None
        if self.lines[-1] < line:
            return result  # it took another way this time
        raise Crashed(f"while {what}")

    def _traced(self, call: Callable[[], Any], crash_line: int | None) -> Any:
        def of_frame(frame: FrameType, event: str, argument: Any) -> Any:
            code = frame.f_code
            first = code.co_varnames[0] if code.co_argcount else None
            return of_line if first and isinstance(frame.f_locals.get(first), self._kinds) else None

        def of_line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self.lines[-1] += 1
                if self.lines[-1] == crash_line:
                    raise Crashed(f"at {place(frame)}")
            return of_line

        before = sys.gettrace()
        sys.settrace(of_frame)
        try:
            return call()
        finally:
            sys.settrace(before)


def place(frame: FrameType) -> str:
    """Name a line for people."""
    code = frame.f_code
    return f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"
