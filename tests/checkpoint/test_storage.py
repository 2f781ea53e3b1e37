"""Where checkpoint files go: what every storage promises, on a local directory and through pyarrow."""

from __future__ import annotations

import errno
import io
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint import storage
from rekindle.checkpoint.storage import (
    ArrowCheckpointFiles,
    CheckpointFiles,
    LocalCheckpointFiles,
    checkpoint_files,
)
from rekindle.exceptions import CheckpointStorageError, ConfigurationError


@pytest.fixture(params=["local", "arrow"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointFiles:
    root = tmp_path / "checkpoints"
    return LocalCheckpointFiles(str(root)) if request.param == "local" else ArrowCheckpointFiles(f"file://{root}")


def everything_below(tmp_path: Path) -> set[str]:
    return {str(path.relative_to(tmp_path / "checkpoints")) for path in tmp_path.rglob("*") if path.is_file()}


class TestEveryStorage:
    def test_a_written_file_is_read_back(self, files: CheckpointFiles) -> None:
        assert files.write("job/chk-1/slot-0-0", io.BytesIO(b"state")) == 5
        assert files.read("job/chk-1/slot-0-0") == b"state"

    def test_a_file_of_many_megabytes_is_written_whole(self, files: CheckpointFiles) -> None:
        data = os.urandom(5 << 20)
        assert files.write("large", io.BytesIO(data)) == len(data)
        assert files.read("large") == data

    def test_an_empty_file_can_be_written(self, files: CheckpointFiles) -> None:
        assert files.write("a/empty", io.BytesIO()) == 0
        assert files.read("a/empty") == b""

    def test_a_created_file_is_read_back(self, files: CheckpointFiles) -> None:
        files.create("job/chk-1/_metadata", b"metadata")
        assert files.read("job/chk-1/_metadata") == b"metadata"

    def test_create_leaves_nothing_beside_the_file(self, files: CheckpointFiles, tmp_path: Path) -> None:
        files.create("job/chk-1/_metadata", b"metadata")
        assert everything_below(tmp_path) == {"job/chk-1/_metadata"}

    def test_create_never_replaces_a_file_and_says_whose_it_may_be(
        self, files: CheckpointFiles, tmp_path: Path
    ) -> None:
        files.create("_metadata", b"first")
        with pytest.raises(CheckpointStorageError, match=r"_metadata: .*Another job or an older attempt wrote it"):
            files.create("_metadata", b"second")
        assert files.read("_metadata") == b"first"
        assert everything_below(tmp_path) == {"_metadata"}

    def test_an_open_file_can_be_read_in_parts(self, files: CheckpointFiles) -> None:
        files.write("file", io.BytesIO(b"0123456789"))
        with files.open("file") as stream:
            assert stream.seek(0, os.SEEK_END) == 10
            stream.seek(3)
            assert stream.read(4) == b"3456"

    def test_list_gives_the_names_in_a_directory_sorted(self, files: CheckpointFiles) -> None:
        for path in ("job/chk-2/x", "job/chk-10/x", "job/file"):
            files.write(path, io.BytesIO(b"x"))
        assert files.list("job") == ["chk-10", "chk-2", "file"]
        assert files.list("") == ["job"]

    def test_a_directory_that_is_not_there_or_a_file_lists_nothing(self, files: CheckpointFiles) -> None:
        files.write("file", io.BytesIO(b"x"))
        assert files.list("missing") == []
        assert files.list("file") == []

    def test_delete_removes_a_file_or_a_directory_with_all_it_holds(self, files: CheckpointFiles) -> None:
        files.write("job/chk-1/a", io.BytesIO(b"x"))
        files.write("job/chk-2/b", io.BytesIO(b"x"))
        files.delete("job/chk-2/b")
        assert files.list("job/chk-2") == []
        files.delete("job")
        assert files.list("") == []

    def test_deleting_what_is_not_there_is_no_error(self, files: CheckpointFiles) -> None:
        files.delete("missing")
        files.delete("missing/chk-1")

    def test_reading_what_is_not_there_raises_naming_it(self, files: CheckpointFiles) -> None:
        with pytest.raises(CheckpointStorageError, match=r"cannot read .*checkpoints/job/x.*Check the path"):
            files.open("job/x")

    def test_a_file_is_described_by_its_full_name(self, files: CheckpointFiles, tmp_path: Path) -> None:
        assert files.describe("job/chk-1").endswith(f"{tmp_path}/checkpoints/job/chk-1")

    def test_it_can_be_sent_to_the_slots(self, files: CheckpointFiles) -> None:
        files.write("file", io.BytesIO(b"x"))
        moved = pickle.loads(pickle.dumps(files))
        assert moved.read("file") == b"x"
        assert moved.root == files.root


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

    def test_of_many_creators_at_once_exactly_one_succeeds(self, local: LocalCheckpointFiles) -> None:
        together = threading.Barrier(8)
        outcomes: list[str] = []

        def create(number: int) -> None:
            together.wait()
            try:
                local.create("_metadata", bytes([number]) * 10_000)
                outcomes.append("created")
            except CheckpointStorageError:
                outcomes.append("refused")

        threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["created"] + ["refused"] * 7
        content = local.read("_metadata")
        assert len(content) == 10_000
        assert len(set(content)) == 1

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


class FailingFileSystem:
    """Pass everything on to a file system of pyarrow, but for one operation that fails."""

    def __init__(self, real: Any, operation: str, code: int) -> None:
        self._real, self._operation, self._code = real, operation, code

    def __getattr__(self, name: str) -> Any:
        return failing(self._code) if name == self._operation else getattr(self._real, name)


class TestErrorsOfTheArrowStorage:
    @pytest.fixture
    def arrow(self, tmp_path: Path) -> ArrowCheckpointFiles:
        return ArrowCheckpointFiles(f"file://{tmp_path}/checkpoints")

    @pytest.mark.parametrize(("code", "text", "advice"), ERRNOS, ids=lambda value: str(value)[:12])
    def test_an_error_is_explained_with_file_reason_and_advice(
        self, arrow: ArrowCheckpointFiles, code: int, text: str, advice: str
    ) -> None:
        arrow._filesystem = FailingFileSystem(arrow._filesystem, "open_output_stream", code)
        with pytest.raises(CheckpointStorageError, match=rf"(?i)cannot write file://.*/slot-0: .*{text}.*{advice}"):
            arrow.write("job/slot-0", io.BytesIO(b"x"))

    @pytest.mark.parametrize("operation", ["create_dir", "open_output_stream", "move", "get_file_info"])
    def test_a_file_that_could_not_be_created_is_not_there_and_leaves_nothing(
        self, arrow: ArrowCheckpointFiles, tmp_path: Path, operation: str
    ) -> None:
        working = arrow._filesystem
        arrow._filesystem = FailingFileSystem(working, operation, errno.ENOSPC)
        with pytest.raises(CheckpointStorageError, match=r"cannot create .*_metadata.*Free some space"):
            arrow.create("job/_metadata", b"x")
        assert everything_below(tmp_path) == set()
        arrow._filesystem = working
        arrow.create("job/_metadata", b"second try")
        assert everything_below(tmp_path) == {"job/_metadata"}

    def test_a_uri_that_pyarrow_does_not_know_is_refused_naming_it(self) -> None:
        with pytest.raises(ConfigurationError, match="'nosuchscheme://bucket/x' cannot be used"):
            ArrowCheckpointFiles("nosuchscheme://bucket/x")


@pytest.mark.parametrize(
    ("location", "root"),
    [("/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("rel/dir", os.path.abspath("rel/dir"))],
)
def test_a_path_or_file_uri_is_a_local_directory(location: str, root: str) -> None:
    files = checkpoint_files(location)
    assert isinstance(files, LocalCheckpointFiles)
    assert files.root == root


def test_any_other_uri_goes_through_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def filesystem_of(uri: str) -> tuple[None, str]:
        asked.append(uri)
        return None, "bucket/checkpoints"

    monkeypatch.setattr(storage, "_filesystem_of", filesystem_of)
    files = checkpoint_files("s3://bucket/checkpoints")
    assert isinstance(files, ArrowCheckpointFiles)
    assert asked == ["s3://bucket/checkpoints"]
    assert files.describe("job/chk-1") == "s3://bucket/checkpoints/job/chk-1"
