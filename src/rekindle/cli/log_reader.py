"""Reads the log of a detached program while it may still be written, across the files that it is rotated to."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

_CHUNK = 1 << 16


class LogReader:
    """Read a log from its oldest file on: FILE.2, FILE.1, FILE.

    Args:
        path: The file that is written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def read(self) -> Iterator[bytes]:
        """Yield all that is there and was not read before, in the order in which it was written."""
        if self._file is None:
            self._file = self._open_oldest()
        while self._file is not None:
            yield from iter(lambda file=self._file: file.read(_CHUNK), b"")  # type: ignore[misc]
            following = self._open_following(self._file)
            if following is None:
                return
            yield from iter(lambda file=self._file: file.read(_CHUNK), b"")  # type: ignore[misc]
            self._file.close()
            self._file = following

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open_oldest(self) -> BinaryIO | None:
        for path in reversed(self._files()):
            with suppress(OSError):  # it was removed just now, or is not begun yet
                return open(path, "rb")
        return None

    def _open_following(self, file: BinaryIO) -> BinaryIO | None:
        """Open the file that was begun after this one; None: this is the one that is written."""
        while True:
            place = self._place(file)
            if place == 0:
                return None
            if place is None:  # it was removed: there were more files since than are kept
                return self._open_oldest()
            try:
                following = open(self._file_at(place - 1), "rb")  # noqa: SIM115 - kept, and closed by close
            except OSError:  # it is begun with its first line
                return None
            if self._place(following) == (self._place(file) or 0) - 1:
                return following
            following.close()  # files were exchanged meanwhile

    def _place(self, file: BinaryIO) -> int | None:
        """Return how many files were begun after this one; None: it is gone."""
        own = os.fstat(file.fileno())
        for number, path in enumerate(self._files()):
            with suppress(OSError):
                if os.path.samestat(os.stat(path), own):
                    return number
        return None

    def _file_at(self, place: int) -> str:
        return self._path if place == 0 else f"{self._path}.{place}"

    def _files(self) -> list[str]:
        """List the files, the one that is written first; that may not be there, having just been renamed."""
        paths = [self._path]
        while os.path.exists(following := self._file_at(len(paths))):
            paths.append(following)
        return paths


def last_lines(chunks: Iterable[bytes], count: int) -> bytes:
    """Return the last lines of a text; 0: all of it."""
    if count == 0:
        return b"".join(chunks)
    lines: deque[bytes] = deque(maxlen=count)
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        lines.extend(line + b"\n" for line in whole)
    if rest:
        lines.append(rest)
    return b"".join(lines)
