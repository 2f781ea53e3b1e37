"""What a program is told when it gives something of the wrong kind, or calls a method too early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["Unfinished", "with_article", "wrong_kind"]


def with_article(noun: str) -> str:
    """Put ``a`` or ``an`` before a word."""
    return f"an {noun}" if noun[0] in "aeioAEIO" else f"a {noun}"


def wrong_kind(method: str, takes: str, given: Any, kind: type) -> TypeError:
    """Return what a method takes and what it was given.

    Args:
        method: The method, and what it was called on where that matters.
        takes: The names of the classes it takes, with their articles.
        given: What it was given.
        kind: The class of which an instance was wanted.
    """
    if isinstance(given, type):
        was = f"the class {given.__name__}"
        then = f": write {given.__name__}()" if issubclass(given, kind) else ""
    else:
        was = with_article(type(given).__name__)
        then = f": derive a class from {kind.__name__} and give an instance of it" if callable(given) else ""
    return TypeError(f"{method} takes {takes}, and was given {was}{then}")


class Unfinished:
    """Streams on which something must be called before they are streams of records again."""

    _next_step: ClassVar[str]

    if not TYPE_CHECKING:  # a checker of types shall go on to find misspelt names

        def __getattr__(self, name: str) -> Any:
            """Return which method comes next, where one is called that is not there."""
            cls = type(self)
            raise AttributeError(f"{cls.__name__} has no {name!r}: {cls._next_step} comes next", name=name, obj=self)
