"""Output of jobs on standard output and standard error, which may be full, closed, or unable to encode it.

That is never a reason to raise: it is the job's output that is lost then, and not the job. What cannot be encoded is
escaped, what cannot be written is dropped, and each is said once for a stream.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import TextIO

log = logging.getLogger(__name__)

_lock = threading.Lock()
_said: set[tuple[str, str]] = set()  # the name of a stream, and what was said about it
_broken: list[TextIO] = []


def write_output(stream: TextIO | None, text: str) -> None:
    """Write text, and flush it; whatever keeps it from being written is said, and not raised.

    Args:
        stream: Standard output or standard error, as it is at the moment; None: the process was started without it.
        text: What to write. It may hold half characters, which stand for bytes that are not UTF-8.
    """
    if stream is None:
        _say(stream, "dropped", "it was closed when this process was started")
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:
            stream.write(_escaped(text, stream.encoding))
            _say(stream, "escaped", f"its encoding, {stream.encoding}, lacks some characters: {error.reason}")
        stream.flush()
    except Exception as error:
        _drop(stream, error)


def _escaped(text: str, encoding: str) -> str:
    """Write characters that an encoding lacks as Python does in a string."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return whole.encode(encoding, "backslashreplace").decode(encoding)


def _drop(stream: TextIO, error: Exception) -> None:
    with _lock:
        if not _broken:
            atexit.register(_end_quietly)
        if not any(each is stream for each in _broken):
            _broken.append(stream)
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        _let_go(stream)  # its reader has gone for good
    _say(stream, "dropped", str(error))


def _say(stream: TextIO | None, what: str, why: str) -> None:
    """Say it once: in the log, and if that goes to the stream itself, on standard output."""
    error_stream = stream is sys.stderr
    name = "standard error" if error_stream else "standard output" if stream is sys.stdout else "a stream"
    with _lock:
        if (name, what) in _said:
            return
        _said.add((name, what))
    text = f"{name} cannot show all that jobs print; the rest is {what}, and the jobs go on: {why}"
    with suppress(Exception):
        log.warning("%s", text)
    if error_stream and sys.stdout is not None:
        with suppress(Exception):
            sys.stdout.write(f"WARNING {text}\n")
            sys.stdout.flush()


def _let_go(stream: TextIO) -> None:
    """Let a stream of the process end in nothing, along with what is still in its buffer."""
    if stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def _end_quietly() -> None:
    """Keep the interpreter from failing by what was dropped, which it would try to write once more at its end."""
    for stream in _broken:
        try:
            stream.flush()
        except Exception:
            _let_go(stream)
