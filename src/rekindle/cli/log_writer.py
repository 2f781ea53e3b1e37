"""Writes what a detached program prints to its log, and begins a new file when one is large enough.

This is the program of a small process beside the detached one: whatever writes to the program's output, Spark's JVM and
native code too, writes to its pipe, and no line is lost when files are exchanged. It ends when the last of them has.
It is started by its path, with nothing but Python's own modules.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20
_MISSING = b"\n(%d bytes of output are missing here: they could not be written)\n"


class LogWriter:
    """Write to a file; the ones before it are called FILE.1, FILE.2 and so on.

    Args:
        path: The file.
        max_size: How many bytes it may have before the next one is begun; 0: any number.
        max_files: How many files are kept, with the one that is being written.
        mode: The permissions of a new one.
    """

    def __init__(self, path: str, max_size: int, max_files: int, mode: int = 0o600) -> None:
        self._path = path
        self._mode = mode
        self._max_size = max_size
        self._max_files = max_files
        self._file: int | None = None
        self._size = 0
        self._lost = 0  # bytes that could not be written since the last that could
        self._in_line = 0  # how many bytes of a line are written that has not ended

    def write(self, data: bytes) -> None:
        """Write, and begin a new file between two lines if it is time. What a full disk loses is said behind it."""
        while data:
            if self._max_size and self._size >= self._max_size:
                if self._in_line and self._in_line < _LONGEST_LINE:
                    end = data.find(b"\n") + 1
                    line, data = (data[:end], data[end:]) if end else (data, b"")
                    self._append(line)
                    continue
                self._rotate()
            room = max(1, self._max_size - self._size) if self._max_size else len(data)
            self._append(data[:room])
            data = data[room:]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, data: bytes) -> None:
        _, newline, after = data.rpartition(b"\n")
        self._in_line = len(after) if newline else self._in_line + len(data)
        view = memoryview(data)
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, self._mode)
                self._size = os.fstat(self._file).st_size
            if self._lost:
                os.write(self._file, _MISSING % self._lost)
                self._lost = 0
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            self._lost += len(view)
        self._size += len(data) - len(view)

    def _rotate(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            for number in range(self._max_files - 1, 0, -1):
                older = self._path if number == 1 else f"{self._path}.{number - 1}"
                if os.path.exists(older):
                    os.replace(older, f"{self._path}.{number}")
            if self._max_files == 1:
                os.unlink(self._path)
        self._size = self._in_line = 0


def main() -> None:
    """Copy standard input to the log until its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with what it writes down, and not before
    path, *numbers = sys.argv[1:]
    writer = LogWriter(path, *map(int, numbers))
    while data := os.read(0, _CHUNK):
        writer.write(data)
    writer.close()


if __name__ == "__main__":
    main()
