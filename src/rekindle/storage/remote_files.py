"""Files below one URI of HDFS or of an object store, as checkpoints and file sinks need them.

The clients are imported where they are used: a job on a disk pays nothing for them. Errors are ``OSError`` in the form
that a disk has: ``FileNotFoundError`` means that the storage said that there is no such file, and nothing else does.
"""

from __future__ import annotations

import errno
import importlib
import socket
from abc import ABC, abstractmethod
from types import ModuleType
from typing import BinaryIO
from urllib.parse import urlsplit

from rekindle.exceptions import ConfigurationError

_CONNECT_SECONDS = 5.0


class StorageError(OSError):
    """The storage refused, or cannot be reached. Never that a file is missing or there already.

    Attributes:
        advice: What to do about it.
    """

    def __init__(self, reason: str, advice: str = "Check the storage") -> None:
        super().__init__(errno.EIO, reason)
        self.advice = advice

    def __reduce__(self) -> tuple[type[StorageError], tuple[str, str]]:
        return type(self), (self.strerror or "", self.advice)


class OutcomeUnknownError(StorageError):
    """The storage gave no answer that tells whether a file was created: it may be there, or appear yet."""


class RemoteFiles(ABC):
    """Read and write files below one URI. Paths are relative to it, with slashes.

    Attributes:
        root: The URI, without its options.
        whole_at_once: Whether a file that is written appears when it is closed, and not before.
    """

    root: str
    whole_at_once: bool

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Create a file atomically: of all who create it at the same time exactly one succeeds.

        It appears with all its bytes or not at all. What tells a lost answer from another writer's file is its content:
        what is raced for has its writer's name in it.

        Raises:
            FileExistsError: There is one already, of another writer.
            OutcomeUnknownError: It may have been created, or may be yet.
            OSError: It was certainly not created, and will not be.
        """

    @abstractmethod
    def write(self, path: str, source: BinaryIO) -> int:
        """Write a whole file, in place of one that may be there; return its size."""

    @abstractmethod
    def output(self, path: str) -> BinaryIO:
        """Open a file for writing, in place of one that may be there. It is whole once it is closed."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """List the names in a directory; empty where there is none."""

    @abstractmethod
    def walk(self) -> list[str]:
        """List the paths of all files below the root."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Move a file to where none is; both names are its writer's own."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file or a directory with all it holds; nothing happens where there is none."""

    @abstractmethod
    def delete_empty(self, directory: str) -> None:
        """Delete a directory if nothing is in it."""

    @abstractmethod
    def make_directory(self, directory: str) -> None:
        """Make a directory, and those above it, where directories exist by themselves."""

    def check_fence(self, directory: str) -> None:  # noqa: B027
        """Make sure that this storage keeps the promise of :meth:`create`.

        Raises:
            ConfigurationError: It does not.
        """

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self.open(path) as stream:
            return stream.read()


def client_module(name: str, package: str, uri: str, what: str) -> ModuleType:
    """Import the client of a storage.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"the {what} {uri!r} needs the Python package {package}, which cannot be imported here ({error}): run pip "
            f"install {package} on every machine of the cluster"
        ) from error


def check_address(host: str, port: int, advice: str) -> None:
    """Find out in seconds whether anything listens at an address; clients try for minutes.

    Raises:
        StorageError: Nothing does.
    """
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        reason = "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error))
        raise StorageError(f"nothing answers at {host}:{port} ({reason})", advice) from error


def parts_of(path: str) -> list[str]:
    """Return the names of which a path consists."""
    return [part for part in path.split("/") if part not in ("", ".")]


def address_of(uri: str, what: str) -> tuple[str, int | None]:
    """Return host and port of a URI.

    Raises:
        ConfigurationError: The port is no number.
    """
    try:
        parts = urlsplit(uri)
        return parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigurationError(f"the {what} {uri!r} cannot be used: {error}") from error
