"""Files in HDFS, by a client that speaks to NameNode and DataNodes itself: no JVM, no libhdfs, no CLASSPATH.

The fence is HDFS's own rename without overwriting: the NameNode refuses it where the target exists, in one step.
Creating a file there is no such step, since it is seen before its bytes are.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from rekindle.storage.remote_files import (
    OutcomeUnknownError,
    RemoteFiles,
    StorageError,
    address_of,
    check_address,
    client_module,
    parts_of,
)

_COPY_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 18
_DEFAULT_PORT = 8020
_RPC_ERROR = re.compile(r'^RPCError\("([\w.$]+)", "(.*)"\)\s*$', re.DOTALL)
_WHERE = (
    "Check host and port of the NameNode (fs.defaultFS of its core-site.xml), or set HADOOP_CONF_DIR, on every machine "
    "of the cluster, to the configuration that has the nameservice"
)
_ACCESS = (
    "Make it writable there for the user that runs the job (or HADOOP_USER_NAME; with Kerberos: kinit), or choose "
    "another directory"
)
_checked: set[str] = set()


class HdfsFiles(RemoteFiles):
    """Keep files below a directory of HDFS."""

    whole_at_once = False

    def __init__(self, uri: str, what: str) -> None:
        self._module = client_module("hdfs_native", "hdfs-native", uri, what)
        self.root = uri.partition("?")[0]
        self._what = what
        self._host, self._port = address_of(self.root, what)
        parts = urlsplit(self.root)
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._base = "/" + "/".join(parts_of(self.root[len(self._url) :]))  # as it is written, as Hadoop takes it
        self._lock = threading.Lock()
        self._made: Any = None

    def __reduce__(self) -> tuple[type[HdfsFiles], tuple[str, str]]:
        return HdfsFiles, (self.root, self._what)

    def create(self, path: str, data: bytes) -> None:
        full = self._full(path)
        temporary = f"{full}.inprogress-{uuid.uuid4().hex}"
        client = self._client()
        self._write(temporary, io.BytesIO(data))
        try:
            client.rename(temporary, full, False)
        except Exception as error:
            self._settle(temporary, path, data, error)

    def _settle(self, temporary: str, path: str, data: bytes, error: Exception) -> None:
        """Find out what became of a rename that was reported as failed: its answer may be all that was lost."""
        reason = _explained(error)
        try:
            with _explaining():
                if self._client().delete(temporary, False):  # it has not happened, and can no more
                    raise reason from error
                there = self.read(path)
        except FileNotFoundError:
            raise reason from error  # neither is there: it cannot happen any more
        except OSError as second:
            if second is reason:
                raise
            raise OutcomeUnknownError(
                f"{reason.strerror}, and then: {second.strerror}", getattr(second, "advice", _WHERE)
            ) from error
        if there != data:
            raise FileExistsError(errno.EEXIST, "it exists already") from error

    def write(self, path: str, source: BinaryIO) -> int:
        return self._write(self._full(path), source)

    def _write(self, full: str, source: BinaryIO) -> int:
        written = 0
        client = self._client()
        with _explaining():
            try:
                target = self._new(client, full)
                while chunk := source.read(_COPY_BYTES):
                    target.write(chunk)
                    written += len(chunk)
                target.close()
            except BaseException:
                with contextlib.suppress(Exception):
                    client.delete(full, False)
                raise
        return written

    def output(self, path: str) -> BinaryIO:
        client = self._client()
        with _explaining():
            return cast(BinaryIO, _Output(self._new(client, self._full(path))))

    def _new(self, client: Any, full: str) -> Any:
        """Create a file for writing.

        Not by the client's own wrapper: that is an IOBase, which Python closes when it is collected. A file that was
        given up would look whole, and the collector would wait for a NameNode that does not answer.
        """
        return client.inner.create(full, self._module.WriteOptions(overwrite=True, create_parent=True))

    def open(self, path: str) -> BinaryIO:
        client = self._client()
        with _explaining():
            return cast(BinaryIO, io.BufferedReader(_Input(client.read(self._full(path))), _BUFFER_BYTES))

    def size(self, path: str) -> int | None:
        client = self._client()
        try:
            with _explaining():
                return int(client.get_file_info(self._full(path)).length)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, directory: str) -> list[str]:
        full = self._full(directory)
        return sorted(path.rpartition("/")[2] for path, _ in self._statuses(full, False) if path != full)

    def walk(self) -> list[str]:
        start = len(self._base.rstrip("/")) + 1
        return [path[start:] for path, is_directory in self._statuses(self._base, True) if not is_directory]

    def rename(self, source: str, target: str) -> None:
        client = self._client()
        try:
            with _explaining():
                client.rename(self._full(source), self._full(target), False)
        except OSError:
            if self.size(source) is not None or self.size(target) is None:
                raise
            # It has taken place, and its answer was lost.

    def delete(self, path: str) -> None:
        client = self._client()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), _explaining():
            client.delete(self._full(path), True)

    def delete_empty(self, directory: str) -> None:
        client = self._client()
        try:
            with _explaining():
                client.delete(self._full(directory), False)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise

    def make_directory(self, directory: str) -> None:
        client = self._client()
        with _explaining():
            client.mkdirs(self._full(directory), 0o755, True)

    def _statuses(self, full: str, recursive: bool) -> list[tuple[str, bool]]:
        client = self._client()
        try:
            with _explaining():
                return [(status.path, status.isdir) for status in client.list_status(full, recursive)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _full(self, path: str) -> str:
        return "/".join([self._base.rstrip("/"), *parts_of(path)]) or "/"

    def _client(self) -> Any:
        if self._made is None:
            client = self._connected()
            with self._lock:
                self._made = self._made or client
        return self._made

    def _connected(self) -> Any:
        """Return a client for an address that answers; it would go on trying for three minutes where nothing does."""
        url = self._url
        with _explaining():
            try:
                client = self._module.Client(url)
            except Exception as error:
                if "No NameNode hosts found" not in str(error) or self._port is not None:
                    raise
                if not _is_host(self._host):
                    raise StorageError(
                        f"{self._host} is neither a host, nor a nameservice of the configuration in "
                        f"HADOOP_CONF_DIR={os.environ.get('HADOOP_CONF_DIR', '')}",
                        _WHERE,
                    ) from None
                url = f"{url}:{_DEFAULT_PORT}"
                client = self._module.Client(url)
            if url not in _checked:
                host, port = address_of(url, self._what)
                if port is not None:
                    check_address(host, port, _WHERE)
                attempts = {"dfs.client.failover.max.attempts": "4" if port is None else "2"}
                self._module.Client(url, attempts).get_file_info("/")
                _checked.add(url)
        return client


class _Input(io.RawIOBase):
    """Give a reader of the client the methods that a buffer needs."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: len(self._reader)}[whence]
        self._place = max(0, start + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), len(self._reader) - self._place)
        if wanted <= 0:
            return 0
        with _explaining():
            data = self._reader.read_range(self._place, wanted)
        if not data:
            raise StorageError(f"the file ended at byte {self._place} of {len(self._reader)}")
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class _Output(io.BufferedIOBase):
    """Collect small writes, and finish the file when it is closed, but not when it is merely dropped."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._collected = bytearray()
        self._sent = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._collected += data
        if len(self._collected) >= _BUFFER_BYTES:
            self._send()
        return len(data)

    def tell(self) -> int:
        return self._sent + len(self._collected)

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._send()
            with _explaining():
                self._writer.close()
        finally:
            super().close()

    def __del__(self) -> None:
        """Leave the file as it is: its writer gave it up."""

    def _send(self) -> None:
        with _explaining():
            if self._collected:
                self._writer.write(bytes(self._collected))
        self._sent += len(self._collected)
        self._collected.clear()


@contextlib.contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        explained = _explained(error)
        if explained is error:
            raise
        raise explained from error


def _explained(error: Exception) -> OSError:
    """Return the error of a disk that says what one of the client means.

    What is not known for certain to be another kind is an error of the storage: it must not read as "not there".
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    text = str(error).partition("\n")[0].strip()
    if isinstance(error, FileNotFoundError):
        missing = FileNotFoundError(errno.ENOENT, f"there is no such file ({text})")
        missing.advice = "Check the path"  # type: ignore[attr-defined]
        return missing
    if isinstance(error, FileExistsError):
        return FileExistsError(errno.EEXIST, "it exists already")
    if isinstance(error, OSError):
        return StorageError(f"HDFS does not answer: {text}", _WHERE)
    found = _RPC_ERROR.match(str(error).strip())
    if found is None:
        quoted = re.fullmatch(r'\w+\("(.*)"\)', text)
        return StorageError(quoted[1] if quoted else text, _WHERE)
    kind = found[1].rpartition(".")[2]
    reason = found[2].replace("\\n", "\n").partition("\n")[0].replace('\\"', '"').rstrip('".')
    if kind in ("AccessControlException", "AuthorizationException"):
        denied = PermissionError(errno.EACCES, reason)
        denied.advice = _ACCESS  # type: ignore[attr-defined]
        return denied
    if kind in ("ParentNotDirectoryException", "PathIsNotDirectoryException"):
        return NotADirectoryError(errno.ENOTDIR, reason)
    if kind == "PathIsNotEmptyDirectoryException":
        return OSError(errno.ENOTEMPTY, reason)
    if "QuotaExceeded" in kind:
        return OSError(errno.EDQUOT, reason)
    if kind == "SafeModeException":
        return StorageError(reason, "Wait until the NameNode has left safe mode (hdfs dfsadmin -safemode get)")
    return StorageError(f"{reason} ({kind})", "Check HDFS: the log of its NameNode says more")


def _is_host(name: str) -> bool:
    try:
        socket.getaddrinfo(name, _DEFAULT_PORT)
    except OSError:
        return False
    return True
