"""What every storage of checkpoints does, as tests that a test class inherits."""

from __future__ import annotations

import io
import os
import pickle
import threading

import pytest

from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import CheckpointStorageError


class StorageContract:
    """What every storage does; ``files`` is a fixture of the test."""

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

    def test_create_never_replaces_a_file_and_says_whose_it_may_be(self, files: CheckpointFiles) -> None:
        files.create("_metadata", b"first")
        with pytest.raises(CheckpointStorageError, match=r"_metadata: .*Another job or an older attempt wrote it"):
            files.create("_metadata", b"second")
        assert files.read("_metadata") == b"first"
        assert files.list("") == ["_metadata"]

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
        with pytest.raises(CheckpointStorageError, match=rf"cannot read {files.root}/job/x.*Check the path"):
            files.open("job/x")

    def test_it_can_be_sent_to_the_slots(self, files: CheckpointFiles) -> None:
        files.write("file", io.BytesIO(b"x"))
        moved = pickle.loads(pickle.dumps(files))
        assert moved.read("file") == b"x"
        assert moved.root == files.root

    def test_of_many_creators_at_once_exactly_one_succeeds(self, files: CheckpointFiles) -> None:
        together = threading.Barrier(8)
        outcomes: list[str] = []

        def create(number: int) -> None:
            together.wait()
            try:
                files.create("_metadata", bytes([number]) * 10_000)
                outcomes.append("created")
            except CheckpointStorageError as error:
                outcomes.append(type(error.__cause__).__name__)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["FileExistsError"] * 7 + ["created"]
        content = files.read("_metadata")
        assert len(content) == 10_000
        assert len(set(content)) == 1
        assert files.list("") == ["_metadata"]

    def test_a_directory_goes_only_if_nothing_is_in_it(self, files: CheckpointFiles) -> None:
        files.write("job/chk-1/x", io.BytesIO(b"x"))
        files.delete_empty("job")
        assert files.list("job") == ["chk-1"]
        files.delete("job/chk-1/x")
        files.delete_empty("job/chk-1")
        files.delete_empty("job")
        files.delete_empty("missing")
        assert files.list("") == []

    def test_it_keeps_drivers_apart(self, files: CheckpointFiles) -> None:
        files.check_fence("log")
        assert files.list("log") == []
