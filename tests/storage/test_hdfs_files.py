"""What becomes of a file in HDFS whose creation goes wrong: the client is a stand-in with HDFS's own rules."""

from __future__ import annotations

import errno
import gc
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.storage.hdfs_files import HdfsFiles, _explained
from rekindle.storage.remote_files import OutcomeUnknownError, StorageError


class Client:
    """Keep files as HDFS does, and do something else at the calls that a test names."""

    def __init__(self, **instead: Callable[..., Any]) -> None:
        self.stored: dict[str, bytes] = {}
        self.inner = SimpleNamespace(create=self._create)
        self._instead = instead

    def _create(self, path: str, options: object) -> Any:
        self.stored[path] = b""

        def write(data: bytes) -> None:
            self._do("write", lambda: self.stored.__setitem__(path, self.stored[path] + data))

        return SimpleNamespace(write=write, close=lambda: self._do("close", lambda: None))

    def rename(self, source: str, target: str, overwrite: bool) -> None:
        def rename() -> None:
            if target in self.stored and not overwrite:
                raise FileExistsError(f"rename destination {target} already exists\n\tat org.apache.hadoop…")
            self.stored[target] = self.stored.pop(source)

        self._do("rename", rename)

    def delete(self, path: str, recursive: bool) -> bool:
        return self._do("delete", lambda: self.stored.pop(path, None) is not None)

    def read(self, path: str) -> Any:
        if path not in self.stored:
            raise FileNotFoundError(f"File does not exist: {path}\n\tat org.apache.hadoop…")
        data = self.stored[path]
        reader = type(
            "Reader", (), {"__len__": lambda self: len(data), "read_range": lambda self, a, n: data[a : a + n]}
        )
        return self._do("read", reader)

    def _do(self, name: str, operation: Callable[[], Any]) -> Any:
        instead = self._instead.get(name)
        return operation() if instead is None else instead(operation)


def lost(operation: Callable[[], Any]) -> None:
    """Do it, and lose the answer."""
    operation()
    raise OSError("RPC listener disconnected")


def broken(operation: Callable[[], Any]) -> None:
    """Do nothing."""
    raise OSError("Connection refused (os error 111)")


def files_of(client: Client) -> HdfsFiles:
    files = HdfsFiles("hdfs://namenode:9000/ha", "test")
    files._made = client
    return files


def test_a_rename_whose_answer_is_lost_has_created_the_file() -> None:
    client = Client(rename=lost)
    files_of(client).create("entry", b"a")
    assert client.stored == {"/ha/entry": b"a"}


def test_a_rename_that_did_not_happen_can_happen_no_more() -> None:
    client = Client(rename=broken)
    with pytest.raises(StorageError, match="HDFS does not answer: Connection refused") as raised:
        files_of(client).create("entry", b"a")
    assert not isinstance(raised.value, OutcomeUnknownError)
    assert client.stored == {}


def test_another_writers_file_stays_and_is_told_from_the_own_one_whatever_answers_are_lost() -> None:
    def deleted_and_asked_again(operation: Callable[[], Any]) -> bool:
        operation()
        return False  # what the second of two tries says

    for client in (Client(), Client(delete=deleted_and_asked_again)):
        client.stored["/ha/entry"] = b"b"
        with pytest.raises(FileExistsError):
            files_of(client).create("entry", b"a")
        assert client.stored == {"/ha/entry": b"b"}


@pytest.mark.parametrize("rename", [lost, broken])
def test_where_nothing_can_be_asked_the_outcome_is_unknown(rename: Callable[[Callable[[], Any]], None]) -> None:
    with pytest.raises(OutcomeUnknownError, match=r"HDFS does not answer.*and then: HDFS does not answer"):
        files_of(Client(rename=rename, delete=broken)).create("entry", b"a")
    if rename is lost:
        with pytest.raises(OutcomeUnknownError):
            files_of(Client(rename=rename, read=broken)).create("entry", b"a")


@pytest.mark.parametrize("call", ["write", "close"])
def test_a_file_that_could_not_be_written_leaves_nothing(call: str) -> None:
    client = Client(**{call: broken})
    with pytest.raises(StorageError):
        files_of(client).create("entry", b"a")
    assert client.stored == {}


def test_a_stream_that_is_dropped_is_not_closed() -> None:
    closed: list[int] = []
    client = Client(close=lambda operation: closed.append(1))
    stream = files_of(client).output("part")
    stream.write(b"a")
    del stream
    gc.collect()
    assert (closed, client.stored) == ([], {"/ha/part": b""})
    stream = files_of(client).output("part")
    stream.write(b"a")
    stream.close()
    stream.close()
    assert (closed, client.stored) == ([1], {"/ha/part": b"a"})


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (FileNotFoundError("/x"), FileNotFoundError, "there is no such file"),
        (OSError("Connection refused (os error 111)"), StorageError, "HDFS does not answer"),
        (RuntimeError('RPCError("java.io.IOException", "lost\\n\\tat org")'), StorageError, r"lost \(IOException\)"),
        (RuntimeError('InvalidArgument("No fs.defaultFS setting found")'), StorageError, "^No fs.defaultFS"),
        (RuntimeError("anything else"), StorageError, "anything else"),
        (
            RuntimeError(
                'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=x\\n")'
            ),
            PermissionError,
            "^Permission denied: user=x$",
        ),
        (
            RuntimeError('RPCError("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "too much\\n")'),
            OSError,
            "too much",
        ),
        (
            RuntimeError(
                'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Name node is in it\\n")'
            ),
            StorageError,
            "Name node is in it",
        ),
    ],
)
def test_only_the_word_of_hdfs_that_a_file_is_missing_reads_as_that(
    error: Exception, kind: type[OSError], text: str
) -> None:
    explained = _explained(error)
    assert type(explained) is kind
    assert isinstance(explained, FileNotFoundError) == isinstance(error, FileNotFoundError)
    assert re.search(text, str(explained.strerror))
    assert explained.errno in (errno.ENOENT, errno.EIO, errno.EACCES, errno.EDQUOT)
    assert "\n" not in str(explained)
