"""Where checkpoint files go: the few operations a checkpoint needs, on a local directory or any pyarrow file system.

pyarrow is imported where it is used: it takes 0.3 s, and a local directory needs none of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO, cast

from rekindle.base.beneath import RefusedFileError, check_own_file, directory_beneath, open_file
from rekindle.base.file_modes import file_mode
from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint import paths
from rekindle.exceptions import CheckpointStorageError, ConfigurationError

_COPY_BYTES = 1 << 20
_unless_gone = contextlib.suppress(FileNotFoundError, NotADirectoryError)


class CheckpointFiles(ABC):
    """Read and write files below one root. Paths are relative to it, with slashes."""

    root: str

    @property
    def creates_once(self) -> bool:
        """Return whether, of all who create one file at the same time, exactly one succeeds."""
        return True

    @abstractmethod
    def write(self, path: str, source: BinaryIO) -> int:
        """Write a whole file, creating its directory; return its size."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Create a file atomically: it appears with all its bytes or not at all, and never over an existing one."""

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

    def delete_empty(self, directory: str) -> None:
        """Delete a directory if nothing is in it."""
        if not self.list(directory):
            self.delete(directory)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self.open(path) as stream:
            return stream.read()

    def describe(self, path: str) -> str:
        """Return the full name of a file, for people."""
        return paths.join(self.root, path)

    @contextlib.contextmanager
    def _explaining(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except RefusedFileError as error:
            raise CheckpointStorageError(f"cannot {doing} {self.describe(path)}: {error.strerror}") from error
        except OSError as error:
            raise CheckpointStorageError(
                f"cannot {doing} {self.describe(path)}: {error.strerror or error}. {_advice(error)}"
            ) from error
        except (ValueError, NotImplementedError) as error:  # a name that the system, or pyarrow, cannot have
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


class ArrowCheckpointFiles(CheckpointFiles):
    """Keep checkpoint files in any file system that pyarrow reaches: hdfs, s3, gs, …

    An object store has no atomic "create unless there": here the last writer wins, and the attempt in every state
    file's name keeps attempts apart. On HDFS creating is atomic: a rename there never replaces a file.
    """

    def __init__(self, uri: str) -> None:
        self.root = uri
        self._filesystem, self._base = _filesystem_of(uri)

    @property
    def creates_once(self) -> bool:
        return bool(self._filesystem.type_name == "hdfs")

    def __reduce__(self) -> tuple[type[ArrowCheckpointFiles], tuple[str]]:
        return ArrowCheckpointFiles, (self.root,)

    def write(self, path: str, source: BinaryIO) -> int:
        with self._explaining("write", path):
            full = self._full(path)
            self._filesystem.create_dir(full.rsplit("/", 1)[0], recursive=True)
            written = 0
            with self._filesystem.open_output_stream(full) as target:
                while chunk := source.read(_COPY_BYTES):
                    target.write(chunk)
                    written += len(chunk)
            return written

    def create(self, path: str, data: bytes) -> None:
        with self._explaining("create", path):
            from pyarrow.fs import FileType

            full = self._full(path)
            self._filesystem.create_dir(full.rsplit("/", 1)[0], recursive=True)
            if self._filesystem.get_file_info(full).type != FileType.NotFound:
                raise FileExistsError(errno.EEXIST, "it exists already", full)
            temporary = f"{full}.inprogress-{uuid.uuid4().hex}"
            try:
                with self._filesystem.open_output_stream(temporary) as target:
                    target.write(data)
                self._filesystem.move(temporary, full)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._filesystem.delete_file(temporary)
                raise

    def open(self, path: str) -> BinaryIO:
        with self._explaining("read", path):
            return cast(BinaryIO, self._filesystem.open_input_file(self._full(path)))

    def list(self, directory: str) -> list[str]:
        with self._explaining("list", directory):
            from pyarrow.fs import FileSelector

            selector = FileSelector(self._full(directory), allow_not_found=True)
            try:
                return sorted(info.base_name for info in self._filesystem.get_file_info(selector))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def delete(self, path: str) -> None:
        with self._explaining("delete", path):
            from pyarrow.fs import FileType

            full = self._full(path)
            kind = self._filesystem.get_file_info(full).type
            if kind == FileType.Directory:
                self._filesystem.delete_dir(full)
            elif kind == FileType.File:
                self._filesystem.delete_file(full)

    def _full(self, path: str) -> str:
        return paths.join(self._base, path)


def checkpoint_files(location: str) -> CheckpointFiles:
    """Open a location: a path or ``file:`` URI of this machine, or any URI that pyarrow knows.

    Raises:
        ConfigurationError: There can be no such location.
    """
    paths.checked_location(location, "checkpoint location")
    if not is_local(location):
        return ArrowCheckpointFiles(location)
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


def _filesystem_of(uri: str):  # type: ignore[no-untyped-def]
    from pyarrow.fs import FileSystem

    try:
        return FileSystem.from_uri(uri)
    except (OSError, ValueError, NotImplementedError) as error:
        raise ConfigurationError(
            f"checkpoint location {uri!r} cannot be used: {error}. "
            "Give a local path, or a URI that pyarrow.fs.FileSystem.from_uri understands"
        ) from error


def _advice(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make the directory writable for the user that runs the job, or choose another checkpoint directory"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space there, or choose another checkpoint directory"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "Check the path, and that it is mounted on every machine of the cluster"
    if error.errno == errno.EEXIST:
        return "Another job or an older attempt wrote it; give this job a checkpoint directory of its own"
    return "Check the checkpoint storage"
