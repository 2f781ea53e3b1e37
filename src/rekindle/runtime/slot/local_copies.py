"""Copies of a slot's snapshots on its own disk, for a quick return after a failure.

A copy has the path that the original has in the checkpoint storage. It is used only if its checksum is right; the
original always is there. Copies that the last completed checkpoint does not need are removed, and all when the job
ends.
"""

from __future__ import annotations

import logging
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import BinaryIO

from rekindle.checkpoint.metadata import StoredFile

log = logging.getLogger(__name__)
_CHUNK = 1 << 20


class LocalCopies:
    """Keep the copies of one slot below a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._closed = False

    def keep(self, path: str, source: BinaryIO) -> None:
        """Keep a copy of an open file."""
        self._make(path, lambda full: _write(full, source))

    def link(self, path: str, local: str) -> None:
        """Keep a file of this machine that nobody will change."""
        self._make(path, lambda full: _link(local, full))

    def _make(self, path: str, make: Callable[[str], None]) -> None:
        """Make a copy. One that cannot be made is done without."""
        full = self._full(path)
        if self._closed or os.path.exists(full):
            return
        try:
            os.makedirs(os.path.dirname(full), mode=0o700, exist_ok=True)
            make(full)
        except OSError as error:
            log.warning("no local copy of %s is kept: %s", path, error)
            with suppress(OSError):
                os.unlink(full)

    def find(self, path: str, original: StoredFile) -> str | None:
        """Return the copy of a file if there is a good one."""
        full = self._full(path)
        try:
            with open(full, "rb") as copy:
                size, crc = 0, 0
                while chunk := copy.read(_CHUNK):
                    size += len(chunk)
                    crc = zlib.crc32(chunk, crc)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("the local copy %s cannot be read (%s): the checkpoint storage is used instead", full, error)
            return None
        if (size, crc) != (original.size, original.crc):
            log.warning("the local copy %s is damaged: the checkpoint storage is used instead", full)
            return None
        return full

    def retain(self, paths: Iterable[str]) -> None:
        """Remove all copies but these."""
        needed = {self._full(path) for path in paths}
        for directory, _, names in os.walk(self._directory):
            for name in names:
                full = os.path.join(directory, name)
                if full not in needed:
                    with suppress(OSError):
                        os.unlink(full)

    def close(self) -> None:
        """Keep no more copies: an upload may still be under way."""
        self._closed = True

    def _full(self, path: str) -> str:
        return os.path.join(self._directory, path)


def _write(full: str, source: BinaryIO) -> None:
    with open(full, "wb") as target:
        shutil.copyfileobj(source, target, _CHUNK)


def _link(local: str, full: str) -> None:
    try:
        os.link(local, full)
    except OSError:  # another file system
        shutil.copyfile(local, full)
