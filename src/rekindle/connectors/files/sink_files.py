"""The few file operations a file sink needs, as an interface.

Which files there are and when they move is decided in ``file_sink_writer``; the two implementations are in
``local_sink_files`` and ``remote_sink_files``.
"""

from __future__ import annotations

import contextlib
import errno
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from rekindle.connectors.files.file_sink_paths import join
from rekindle.exceptions import ConfigurationError, RekindleError

WRITE_BUFFER_BYTES = 1 << 16


class FileSinkError(RekindleError):
    """A file sink cannot write, commit or clean up its files; the message says which, why, and what to do."""


class SinkFiles(ABC):
    """Write, move and remove files below one base path. Paths are relative to it, with slashes.

    Attributes:
        base: The base path as it is shown to people.
    """

    base: str
    whole_at_once: bool = False
    """Whether a file that is written appears when it is sealed, and not before: an object of a store does."""

    @abstractmethod
    def create_base(self) -> None:
        """Create the base directory unless it is there."""

    @abstractmethod
    def create(self, path: str) -> BinaryIO:
        """Create a file for writing, and its directory."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""

    @abstractmethod
    def seal(self, path: str, stream: BinaryIO) -> None:
        """Close a file that was created here, with all its bytes on the storage."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Move a file within its directory; the target does not exist."""

    @abstractmethod
    def sync_directories(self, directories: Iterable[str]) -> None:
        """Make earlier renames in these directories survive a crash of the machine."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""

    @abstractmethod
    def walk(self) -> list[str]:
        """List all files below the base path, in all buckets."""

    def append(self, path: str, stream: BinaryIO, data: bytes) -> None:
        """Write at the end of a file that was created here."""
        with self._explaining("write to", path):
            stream.write(data)

    def describe(self, path: str) -> str:
        """Return the full name of a file, for people."""
        return join(self.base.rstrip("/"), path) if path else self.base

    @contextlib.contextmanager
    def _explaining(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except ConfigurationError:  # a ValueError, too
            raise
        except (OSError, ValueError) as error:  # some of pyarrow's errors are ValueErrors
            reason = getattr(error, "strerror", None) or first_line(error)
            raise FileSinkError(
                f"the file sink cannot {doing} {self.describe(path)}: {reason}. {_advice(error)}"
            ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's text; pyarrow's may have a hundred."""
    return str(error).partition("\n")[0]


def _advice(error: Exception) -> str:
    own = getattr(error, "advice", None)
    if own is not None:
        return str(own)
    number = getattr(error, "errno", None)
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make it writable for the user that runs the job, or give the sink another base path"
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space there, or give the sink another base path"
    if number in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR):
        return "A file is where a directory should be: move it away, or give the sink another base path"
    if number in (errno.EMFILE, errno.ENFILE):
        return "Each bucket keeps a file open: make fewer buckets, or raise the limit of open files (ulimit -n)"
    if number == errno.ENOENT:
        return "It was removed, or the base path is not mounted on every machine of the cluster"
    return "Check the storage of the base path"
