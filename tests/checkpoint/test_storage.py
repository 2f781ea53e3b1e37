"""Where checkpoint files go: what every storage promises, on a local directory and on the clients of remote ones."""

from __future__ import annotations

import errno
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import (
    CheckpointFiles,
    LocalCheckpointFiles,
    RemoteCheckpointFiles,
    checkpoint_files,
)
from rekindle.exceptions import CheckpointStorageError, ConfigurationError
from rekindle.storage.hdfs_files import HdfsFiles
from rekindle.storage.object_files import ObjectFiles
from support.disk_storage import DiskObjects
from support.storage_contract import StorageContract


@pytest.fixture(params=["local", "objects"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointFiles:
    root = tmp_path / "checkpoints"
    return LocalCheckpointFiles(str(root)) if request.param == "local" else RemoteCheckpointFiles(DiskObjects(root))


def everything_below(tmp_path: Path) -> set[str]:
    return {str(path.relative_to(tmp_path / "checkpoints")) for path in tmp_path.rglob("*") if path.is_file()}


class TestEveryStorage(StorageContract):
    def test_create_leaves_nothing_beside_the_file(self, files: CheckpointFiles, tmp_path: Path) -> None:
        files.create("job/chk-1/_metadata", b"metadata")
        with pytest.raises(CheckpointStorageError):
            files.create("job/chk-1/_metadata", b"other")
        assert everything_below(tmp_path) == {"job/chk-1/_metadata"}

    def test_a_file_is_described_by_its_full_name(self, files: CheckpointFiles, tmp_path: Path) -> None:
        assert files.root in ("test://out", f"{tmp_path}/checkpoints")
        assert files.describe("job/chk-1") == f"{files.root}/job/chk-1"


def test_state_is_for_its_owner_and_the_usual_umask_changes_nothing_about_that(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path / "new" / "checkpoints"))
    before = os.umask(0o022)
    try:
        files.write("job/chk-1/slot-0-0", io.BytesIO(b"state"))
        files.create("job/chk-1/_metadata", b"metadata")
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert {path for path, mode in modes.items() if mode == 0o700} == {
        "new",
        "new/checkpoints",
        "new/checkpoints/job",
        "new/checkpoints/job/chk-1",
    }
    assert {path for path, mode in modes.items() if mode == 0o600} == {
        "new/checkpoints/job/chk-1/slot-0-0",
        "new/checkpoints/job/chk-1/_metadata",
    }


def test_nothing_is_written_or_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("mine")
    files = LocalCheckpointFiles(str(tmp_path / "checkpoints"))
    files.write("file", io.BytesIO(b"x"))
    (tmp_path / "checkpoints" / "job").symlink_to(tmp_path / "mine")
    (tmp_path / "checkpoints" / "letter").symlink_to(tmp_path / "mine" / "letter")
    for attempt in (
        lambda: files.read("job/letter"),
        lambda: files.read("letter"),
        lambda: files.list("job"),
        lambda: files.delete("job/letter"),
        lambda: files.create("job/new", b"x"),
        lambda: files.write("job/new", io.BytesIO(b"x")),
    ):
        with pytest.raises(CheckpointStorageError, match="it is a symbolic link, and none is followed there"):
            attempt()
    files.delete("job")
    files.delete("letter")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter"]
    assert files.list("") == ["file"]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "_metadata")
    with pytest.raises(CheckpointStorageError, match="it is not a file"):
        LocalCheckpointFiles(str(tmp_path)).read("_metadata")


ERRNOS = [
    (errno.ENOSPC, "No space left on device", "Free some space there"),
    (errno.EDQUOT, "quota", "Free some space there"),
    (errno.EROFS, "Read-only file system", "Make the directory writable"),
    (errno.EACCES, "Permission denied", "Make the directory writable"),
    (errno.ENOTDIR, "Not a directory", "Check the path"),
    (errno.EIO, "Input/output error", "Check the checkpoint storage"),
]


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


class TestErrorsOfTheLocalStorage:
    @pytest.fixture
    def local(self, tmp_path: Path) -> LocalCheckpointFiles:
        return LocalCheckpointFiles(str(tmp_path / "checkpoints"))

    @pytest.mark.parametrize(("code", "text", "advice"), ERRNOS, ids=lambda value: str(value)[:12])
    def test_an_error_is_explained_with_file_reason_and_advice(
        self, local: LocalCheckpointFiles, monkeypatch: pytest.MonkeyPatch, code: int, text: str, advice: str
    ) -> None:
        monkeypatch.setattr(os, "fsync", failing(code))
        with pytest.raises(
            CheckpointStorageError, match=rf"(?i)cannot write .*/job/slot-0: .*{text}.*{advice}"
        ) as info:
            local.write("job/slot-0", io.BytesIO(b"x"))
        assert isinstance(info.value.__cause__, OSError)

    @pytest.mark.parametrize("step", ["mkdir", "fsync", "link"])
    def test_a_file_that_could_not_be_created_is_not_there_and_leaves_nothing(
        self, local: LocalCheckpointFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(os, step, failing(errno.ENOSPC))
            with pytest.raises(CheckpointStorageError, match=r"cannot create .*_metadata.*Free some space"):
                local.create("job/_metadata", b"x")
        assert local.list("job") == []
        local.create("job/_metadata", b"second try")
        assert everything_below(tmp_path) == {"job/_metadata"}

    def test_a_file_is_whole_before_it_has_its_name(
        self, local: LocalCheckpointFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link, seen = os.link, []

        def watched(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
            assert target not in os.listdir(dst_dir_fd)
            with os.fdopen(os.open(source, os.O_RDONLY, dir_fd=src_dir_fd), "rb") as file:
                seen.append(file.read())
            link(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        monkeypatch.setattr(os, "link", watched)
        local.create("_metadata", b"all of it")
        assert seen == [b"all of it"]

    def test_listing_and_deleting_explain_their_errors_too(
        self, local: LocalCheckpointFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        local.write("job/x", io.BytesIO(b"x"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "listdir", failing(errno.EACCES))
            with pytest.raises(CheckpointStorageError, match=r"cannot list .*/job: Permission denied"):
                local.list("job")
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", failing(errno.EROFS))
            with pytest.raises(CheckpointStorageError, match=r"cannot delete .*/job/x: Read-only file system"):
                local.delete("job/x")

    def test_a_file_in_the_place_of_a_directory_is_explained(self, local: LocalCheckpointFiles) -> None:
        local.write("job", io.BytesIO(b"a file"))
        with pytest.raises(CheckpointStorageError, match=r"cannot write .*/job/chk-1/x"):
            local.write("job/chk-1/x", io.BytesIO(b"x"))


class TestErrorsOfRemoteStorages:
    @pytest.mark.parametrize(("code", "text", "advice"), ERRNOS, ids=lambda value: str(value)[:12])
    def test_an_error_is_explained_with_file_reason_and_advice(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, text: str, advice: str
    ) -> None:
        remote = DiskObjects(tmp_path)
        monkeypatch.setattr(remote, "write", failing(code))
        with pytest.raises(CheckpointStorageError, match=rf"(?i)cannot write test://out/job/s: .*{text}.*{advice}"):
            RemoteCheckpointFiles(remote).write("job/s", io.BytesIO(b"x"))

    def test_an_error_in_the_middle_of_reading_is_explained_too(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        remote = DiskObjects(tmp_path)
        remote.write("file", io.BytesIO(b"x"))
        monkeypatch.setattr(remote, "read_range", failing(errno.EIO))
        with pytest.raises(CheckpointStorageError, match=r"cannot read test://out/file: Input/output error"):
            RemoteCheckpointFiles(remote).read("file")

    @pytest.mark.parametrize("scheme", ["nosuchscheme", "wasb", "mock"])
    def test_a_uri_that_no_client_knows_is_refused_naming_it(self, scheme: str) -> None:
        with pytest.raises(ConfigurationError, match=f"'{scheme}://bucket/x' cannot be used: there is no storage with"):
            checkpoint_files(f"{scheme}://bucket/x")

    def test_options_are_refused_because_paths_follow(self) -> None:
        with pytest.raises(ConfigurationError, match=r"has options, which no path can follow.*AWS_ENDPOINT_URL"):
            checkpoint_files("s3://bucket/x?endpoint_override=minio:9000")

    @pytest.mark.parametrize(
        ("uri", "module", "package"),
        [("hdfs://namenode:9000/flink", "hdfs_native", "hdfs-native"), ("s3://bucket/x", "obstore", "obstore")],
    )
    def test_a_missing_client_is_one_sentence_with_the_fix(
        self, monkeypatch: pytest.MonkeyPatch, uri: str, module: str, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match=rf"needs the Python package {package}.* pip install {package} on"):
            checkpoint_files(uri)


@pytest.mark.parametrize(
    ("location", "root"),
    [("/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("rel/dir", os.path.abspath("rel/dir"))],
)
def test_a_path_or_file_uri_is_a_local_directory(location: str, root: str) -> None:
    files = checkpoint_files(location)
    assert isinstance(files, LocalCheckpointFiles)
    assert files.root == root


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("hdfs://namenode:9000/flink/checkpoints", HdfsFiles),
        ("s3://bucket/checkpoints", ObjectFiles),
        ("s3a://bucket/checkpoints", ObjectFiles),
        ("gs://bucket/checkpoints", ObjectFiles),
        ("abfs://container@account.dfs.core.windows.net/checkpoints", ObjectFiles),
    ],
)
def test_any_other_uri_goes_to_the_client_of_its_storage(uri: str, kind: type) -> None:
    files = pickle.loads(pickle.dumps(checkpoint_files(uri)))
    assert isinstance(files, RemoteCheckpointFiles)
    assert isinstance(files._remote, kind)
    assert files.describe("job/chk-1") == f"{uri}/job/chk-1"


def test_a_disk_needs_no_client() -> None:
    code = "import sys; from rekindle.checkpoint.storage import checkpoint_files; checkpoint_files('/a').list('')"
    code += "; assert not {'obstore', 'hdfs_native', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
