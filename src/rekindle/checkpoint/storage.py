"""Where checkpoint files go: the few operations a checkpoint needs, on a local directory, HDFS or an object store."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO

from rekindle.base.beneath import RefusedFileError, check_own_file, directory_beneath, open_file
from rekindle.base.file_modes import file_mode
from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint import paths
from rekindle.exceptions import CheckpointStorageError, ConfigurationError
from rekindle.storage.remote_files import RemoteFiles
from rekindle.storage.remote_storage import remote_files

_COPY_BYTES = 1 << 20
_unless_gone = contextlib.suppress(FileNotFoundError, NotADirectoryError)


class CheckpointFiles(ABC):
    """Read and write files below one root. Paths are relative to it, with slashes."""

    root: str

    @abstractmethod
    def write(self, path: str, source: BinaryIO) -> int:
        """Write a whole file, creating its directory; return its size."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Create a file atomically: it appears with all its bytes or not at all, and never over an existing one.

        Of all who create one file at the same time exactly one succeeds, on every storage.

        Raises:
            CheckpointStorageError: It was not created. Its cause is a ``FileExistsError`` where there is one already,
                and an ``OutcomeUnknownError`` where the storage did not answer: then it may be there, or appear yet.
        """

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""

    @abstractmethod
    def list(self, directory: str) -> list[str]:
        """List the names in a directory; empty where there is none."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file or a directory with all it holds; nothing happens where there is none."""

    def really(self) -> CheckpointFiles:
        """Return the same place by the path at which it is, whatever links lead there."""
        return self

    def is_link(self, path: str) -> bool:
        """Return whether a name is that of a symbolic link, which leads to what is not here."""
        return False

    def refusal(self, path: str) -> str | None:
        """Return why :meth:`delete_own` would not delete a file; None: it would, or there is none."""
        return None

    def delete_own(self, path: str) -> None:
        """Delete one file, if it is one and really lies there, and belongs to somebody whose files are believed.

        What others wrote may have named it. Of who may write where in a cluster's file system, that decides itself.

        Raises:
            CheckpointStorageError: It is not, or cannot be deleted.
        """
        self.delete(path)

    def check_fence(self, directory: str) -> None:  # noqa: B027
        """Make sure that the storage keeps the promise of :meth:`create`: not every server does.

        Raises:
            ConfigurationError: It does not.
        """

    def delete_empty(self, directory: str) -> None:
        """Delete a directory if nothing is in it."""
        if not self.list(directory):
            self.delete(directory)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self._explaining("read", path), self.open(path) as stream:
            return stream.read()

    def describe(self, path: str) -> str:
        """Return the full name of a file, for people."""
        return paths.join(self.root, path)

    @contextlib.contextmanager
    def _explaining(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except ConfigurationError:  # a ValueError, too
            raise
        except RefusedFileError as error:
            raise CheckpointStorageError(f"cannot {doing} {self.describe(path)}: {error.strerror}") from error
        except OSError as error:
            raise CheckpointStorageError(
                f"cannot {doing} {self.describe(path)}: {error.strerror or error}. {_advice(error)}"
            ) from error
        except (ValueError, NotImplementedError) as error:  # a name that the system cannot have
            raise CheckpointStorageError(
                f"cannot {doing} {self.describe(path)}: {error}. Choose another path"
            ) from error


class LocalCheckpointFiles(CheckpointFiles):
    """Keep checkpoint files in a directory of this machine (or one mounted on all of them).

    Below its root no symbolic link is followed, and nothing is read that belongs to somebody else: who may write
    somewhere on the way cannot have other files read or deleted than those that are really there.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def write(self, path: str, source: BinaryIO) -> int:
        with self._explaining("write", path), self._above(path, make=True) as (here, name):
            try:
                with _created(here, name) as target:
                    shutil.copyfileobj(source, target, _COPY_BYTES)
                    target.flush()
                    os.fsync(target.fileno())
                    size = target.tell()
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=here)
                raise
            self._sync_above(path)
            return size

    def create(self, path: str, data: bytes) -> None:
        with self._explaining("create", path), self._above(path, make=True) as (here, name):
            temporary = f"{name}.inprogress-{uuid.uuid4().hex}"
            try:
                with _created(here, temporary) as target:
                    target.write(data)
                    target.flush()
                    os.fsync(target.fileno())
                os.link(temporary, name, src_dir_fd=here, dst_dir_fd=here)  # unlike rename, it never replaces anything
                self._sync_above(path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=here)

    def open(self, path: str) -> BinaryIO:
        with self._explaining("read", path), self._above(path) as (here, name):
            return os.fdopen(open_file(here, name, self.describe(path)), "rb")

    def list(self, directory: str) -> list[str]:
        with self._explaining("list", directory):
            try:
                with directory_beneath(self.root, _parts(directory)) as here:
                    return sorted(os.listdir(here))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def really(self) -> LocalCheckpointFiles:
        return LocalCheckpointFiles(os.path.realpath(self.root))

    def is_link(self, path: str) -> bool:
        return os.path.islink(os.path.join(self.root, path))

    def delete(self, path: str) -> None:
        with self._explaining("delete", path), _unless_gone:
            if not _parts(path):
                shutil.rmtree(self.root)
                return
            with self._above(path) as (here, name):
                if stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
                    shutil.rmtree(name, dir_fd=here)
                else:
                    os.unlink(name, dir_fd=here)

    def refusal(self, path: str) -> str | None:
        try:
            with self._explaining("delete", path), _unless_gone, self._above(path, own=True) as (here, name):
                check_own_file(here, name, self.describe(path))
        except CheckpointStorageError as error:
            return str(error)
        return None

    def delete_own(self, path: str) -> None:
        with self._explaining("delete", path), _unless_gone, self._above(path, own=True) as (here, name):
            check_own_file(here, name, self.describe(path))
            os.unlink(name, dir_fd=here)

    def delete_empty(self, directory: str) -> None:
        with self._explaining("delete", directory), _unless_gone:
            try:
                if not _parts(directory):
                    os.rmdir(self.root)
                    return
                with self._above(directory) as (here, name):
                    os.rmdir(name, dir_fd=here)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    @contextlib.contextmanager
    def _above(self, path: str, make: bool = False, own: bool = False) -> Iterator[tuple[int, str]]:
        """Open the directory in which something is; return it, and the name there."""
        *above, name = _parts(path)
        with directory_beneath(self.root, above, make, own) as here:
            yield here, name

    def _sync_above(self, path: str) -> None:
        """Make a new name in its directory durable, and the names of the two above it (job and checkpoint)."""
        _sync_directories(os.path.dirname(os.path.join(self.root, *_parts(path))))


class RemoteCheckpointFiles(CheckpointFiles):
    """Keep checkpoint files in HDFS or an object store."""

    def __init__(self, files: RemoteFiles) -> None:
        self.root = files.root
        self._remote = files

    def write(self, path: str, source: BinaryIO) -> int:
        with self._explaining("write", path):
            return self._remote.write(path, source)

    def create(self, path: str, data: bytes) -> None:
        with self._explaining("create", path):
            self._remote.create(path, data)

    def check_fence(self, directory: str) -> None:
        with self._explaining("write to", directory):
            self._remote.check_fence(directory)

    def open(self, path: str) -> BinaryIO:
        with self._explaining("read", path):
            return self._remote.open(path)

    def list(self, directory: str) -> list[str]:
        with self._explaining("list", directory):
            return self._remote.names(directory)

    def delete(self, path: str) -> None:
        with self._explaining("delete", path):
            self._remote.delete(path)

    def delete_empty(self, directory: str) -> None:
        with self._explaining("delete", directory):
            self._remote.delete_empty(directory)


def checkpoint_files(location: str) -> CheckpointFiles:
    """Open a location: a path or ``file:`` URI of this machine, or a URI of HDFS or an object store.

    Raises:
        ConfigurationError: There can be no such location.
    """
    paths.checked_location(location, "checkpoint location")
    if not is_local(location):
        if "?" in location:
            raise ConfigurationError(
                f"the checkpoint location {location!r} has options, which no path can follow: give them to driver and "
                "slots in environment variables, such as AWS_ENDPOINT_URL and AWS_DEFAULT_REGION"
            )
        return RemoteCheckpointFiles(remote_files(location, "checkpoint location"))
    return LocalCheckpointFiles(local_path(location))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _created(here: int, name: str) -> BinaryIO:
    """Open a new file in an open directory, in place of whatever had its name."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=here)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(name, flags, file_mode(), dir_fd=here), "wb")


def _sync_directories(directory: str) -> None:
    for _ in range(3):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        directory = os.path.dirname(directory)


def _advice(error: OSError) -> str:
    own = getattr(error, "advice", None)
    if own is not None:
        return str(own)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make the directory writable for the user that runs the job, or choose another checkpoint directory"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space there, or choose another checkpoint directory"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "Check the path, and that it is mounted on every machine of the cluster"
    if error.errno == errno.EEXIST:
        return "Another job or an older attempt wrote it; give this job a checkpoint directory of its own"
    return "Check the checkpoint storage"
