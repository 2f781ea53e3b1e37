"""File names in Spark's JVM, which takes the encoding of their letters from the locale that it is started with."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError

log = logging.getLogger(__name__)

_UTF_8 = "C.UTF-8"
_WITHOUT_LETTERS = ("", "C", "POSIX")
_VARIABLES = ("LC_ALL", "LC_CTYPE", "LANG")  # the first that is set holds
_warned: set[str] = set()


@contextmanager
def letters_in_file_names() -> Iterator[None]:
    """Let a JVM that is started meanwhile know all letters, where nobody has chosen a locale that has them.

    Python does the same for itself.
    """
    chosen = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    if chosen not in _WITHOUT_LETTERS:
        yield
        return
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = _UTF_8
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


def warn_of_lost_letters(jvm: Any, application: str) -> None:
    """Say, once for an application, that its JVM can only name files in ASCII."""
    encoding = None
    with suppress(Py4JError, AttributeError, TypeError):
        encoding = jvm.java.lang.System.getProperty("sun.jnu.encoding")
    if encoding in ("ANSI_X3.4-1968", "US-ASCII") and application not in _warned:
        _warned.add(application)
        log.warning(
            "Spark's JVM runs in the locale C, in which it finds no file whose name has other letters than those of "
            "ASCII: start it with LC_ALL=%s",
            _UTF_8,
        )
