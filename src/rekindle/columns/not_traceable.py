"""Why a function has no column form."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class NotTraceable(Exception):  # noqa: N818 - a signal, which never leaves the driver
    """Say why a function has no column form; the message goes into the plan.

    Attributes:
        reason: What the function does, beginning with "it" where the function is the subject.
        line: The line in which it does so, if that is known.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason, line)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"{self.reason}, in line {self.line}"

    def at(self, line: int | None) -> NotTraceable:
        """Return the same with a line, unless it has one."""
        return self if self.line is not None or line is None else NotTraceable(self.reason, line)

    def of(self, subject: str, line: int | None) -> NotTraceable:
        """Return the same with the name of the function, and the line where it begins unless a better one is known."""
        said = self.reason[3:] if self.reason.startswith("it ") else f"cannot be traced: {self.reason}"
        return NotTraceable(f"{subject} {said}", line if self.line is None else self.line)


@contextmanager
def naming(function: Any, method: str = "", subject: str = "") -> Iterator[None]:
    """Let reasons name the function, or the method of it, that they are about, and a line of that.

    Args:
        function: The function.
        method: The name of its method.
        subject: What to call it, if not by its name.
    """
    call = inspect.getattr_static(function, method, function)
    if isinstance(call, types.MethodType | staticmethod):
        call = call.__func__
    try:
        yield
    except NotTraceable as reason:
        if isinstance(call, types.FunctionType):
            named = reason.of(subject or f"`{call.__name__}`", call.__code__.co_firstlineno)
        else:
            named = reason.of(subject or f"`{type(call).__name__}`", None)
        raise named from None
