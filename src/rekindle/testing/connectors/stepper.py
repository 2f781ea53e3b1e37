"""Runs the thread of a source line by line, to look at it where a snapshot may come."""

from __future__ import annotations

import linecache
import threading
import time
from collections.abc import Callable
from threading import Condition, Thread
from types import FrameType
from typing import Any

from rekindle.contracts.functions import SourceFunction
from rekindle.testing.connectors.crash_points import place

_LOOK_SECONDS = 0.001  # how soon it is noticed that a thread has ended


class Stepper:
    """Stop a source before a line of its own methods, unless it holds the lock: there no snapshot can be taken.

    Attributes:
        lines: How many such lines have been run.
        place: Where the source stands, or was last.
    """

    def __init__(self, lock_held: Callable[[], bool]) -> None:
        """Make a stepper.

        Args:
            lock_held: Tells whether the source is in a step.
        """
        self.lines = 0
        self.place = "at the beginning"
        self._lock_held = lock_held
        self._changed = Condition()
        self._allowed = 0
        self._stopped = False
        self._free = False

    def starting(self, start: Callable[[], Any]) -> Any:
        """Call what starts the thread of the source."""
        before = threading.gettrace()
        threading.settrace(self._of_frame)
        try:
            return start()
        finally:
            threading.settrace(before)

    def advance(self, lines: int, thread: Thread, timeout: float) -> None:
        """Run some lines, until the source stands before the next one, has ended, or waits for something too long."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._allowed += lines
            self._stopped = False
            self._changed.notify_all()
            while not self._stopped and thread.is_alive() and time.monotonic() < deadline:
                self._changed.wait(_LOOK_SECONDS)

    def release(self) -> None:
        """Let the source run by itself from now on."""
        with self._changed:
            self._free = True
            self._changed.notify_all()

    def _of_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else None
        return self._of_line if first and isinstance(frame.f_locals.get(first), SourceFunction) else None

    def _of_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and not self._lock_held():
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            with self._changed:
                self.lines += 1
                self.place = f"before {place(frame)}{f': {text}' if text else ''}"
                while self._allowed <= 0 and not self._free:
                    self._stopped = True
                    self._changed.notify_all()
                    self._changed.wait()
                self._allowed -= 1
        return self._of_line
