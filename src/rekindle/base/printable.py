"""Text that others wrote, as it may be shown in a terminal and in a log."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_COMMANDS = frozenset({"Cc", "Zl", "Zp", "Cs"})  # control, line ends of Unicode, halves of letters
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """Return a text with every letter escaped that a terminal would obey rather than show.

    Escape sequences clear screens and retitle windows, a carriage return overwrites what stands there, and what turns
    the direction of writing makes a line read otherwise. Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter in _KEPT or not (unicodedata.category(letter) in _COMMANDS or letter in _DIRECTIONS):
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
