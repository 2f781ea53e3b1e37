"""The files of a file sink in a local directory, synced so that they survive a crash of the machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import BinaryIO

from rekindle.connectors.files.file_sink_paths import join, name_of
from rekindle.connectors.files.sink_files import WRITE_BUFFER_BYTES, SinkFiles


class LocalSinkFiles(SinkFiles):
    """Keep files in a directory of this machine, or one mounted on all of them."""

    def __init__(self, base: str) -> None:
        self.base = os.path.abspath(base)

    def create_base(self) -> None:
        """Create the base directory unless it is there."""
        with self._explaining("create its base directory", ""):
            _make_directories(self.base)

    def create(self, path: str) -> BinaryIO:
        """Create a file for writing, and its directory."""
        with self._explaining("create", path):
            full = self._full(path)
            _make_directories(os.path.dirname(full))
            return open(full, "xb", buffering=WRITE_BUFFER_BYTES)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""
        with self._explaining("read", path):
            return open(self._full(path), "rb")

    def seal(self, path: str, stream: BinaryIO) -> None:
        """Close a file that was created here, with all its bytes on the disk."""
        with self._explaining("write to", path), stream:
            stream.flush()
            os.fsync(stream.fileno())

    def rename(self, source: str, target: str) -> None:
        """Move a file within its directory; the target does not exist."""
        with self._explaining(f"rename to {name_of(target)!r} the file", source):
            os.rename(self._full(source), self._full(target))

    def sync_directories(self, directories: Iterable[str]) -> None:
        """Make earlier renames in these directories survive a crash of the machine."""
        for directory in directories:
            with self._explaining("sync the directory", directory):
                _sync_directory(self._full(directory))

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""
        with self._explaining("look at", path):
            try:
                return os.stat(self._full(path)).st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        with self._explaining("remove", path), contextlib.suppress(FileNotFoundError):
            os.unlink(self._full(path))

    def walk(self) -> list[str]:
        """List all files below the base path, in all buckets."""
        found: list[str] = []
        with self._explaining("list the files below", ""):
            for directory, _, names in os.walk(self.base, onerror=_raise_unless_gone):
                relative = os.path.relpath(directory, self.base)
                found += [join("" if relative == "." else relative, name) for name in names]
        return found

    def _full(self, path: str) -> str:
        return os.path.join(self.base, path)


def _make_directories(path: str) -> None:
    missing = []
    level = path
    while not os.path.isdir(level):
        missing.append(level)
        level = os.path.dirname(level)
    os.makedirs(path, exist_ok=True)
    for level in missing:
        _sync_directory(os.path.dirname(level))


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # somebody may tidy up directories while they are listed
        raise error
