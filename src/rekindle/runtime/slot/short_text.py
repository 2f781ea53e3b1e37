"""Text of bounded length that can always be sent, made of whatever user code has."""

from __future__ import annotations

import reprlib

from rekindle.base.printable import printable


def cut(text: str, limit: int) -> str:
    """Return a text, without its middle if it is longer than a limit; it says how many characters are missing.

    What a terminal would obey, and what UTF-8 cannot express, is written as an escape sequence.
    """
    if len(text) > limit:
        head = limit * 2 // 3
        tail = limit - head
        text = f"{text[:head]}… ({len(text) - limit:,} characters cut) …{text[-tail:]}"
    return printable(text)


class _Repr(reprlib.Repr):
    """Look at no more of a value than is shown of it, where the value is one of Python's own."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 30
        self.maxarray = 30
        self.maxstring = self.maxlong = self.maxother = limit

    def repr_bytes(self, value: bytes, level: int) -> str:
        return self.repr_str(value, level)  # type: ignore[arg-type]

    repr_bytearray = repr_bytes

    def repr_instance(self, value: object, level: int) -> str:
        try:
            text = repr(value)
        except BaseException as error:
            return f"<a value of class {type(value).__name__} whose repr() raises {type(error).__name__}>"
        return cut(text, self.maxother)


def short_repr(value: object, limit: int) -> str:
    """Return the representation of a value within a limit; one that raises is survived."""
    try:
        return cut(_Repr(limit).repr(value), limit)
    except BaseException as error:
        return f"<a value of class {type(value).__name__} whose repr() raises {type(error).__name__}>"
