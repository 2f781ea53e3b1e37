"""The log of a job, entry by entry: who may append, what is kept, what is said when something is wrong."""

from __future__ import annotations

import errno
import io
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rekindle.checkpoint.storage import CheckpointFiles, LocalCheckpointFiles, RemoteCheckpointFiles
from rekindle.exceptions import CheckpointCorruptError, CheckpointStorageError, ConfigurationError, JobFencedError
from rekindle.ha.entry import CheckpointReference, LogEntry, Owner, decode_entry, encode_entry
from rekindle.ha.log import JobLog
from rekindle.ha.ownership import IDS_AHEAD, JobOwnership
from rekindle.storage.remote_files import OutcomeUnknownError
from rekindle.testing import ManualClock
from support.disk_storage import DiskObjects


class FailingFiles(LocalCheckpointFiles):
    """Fail when told to, before or after the deed; answer a listing with what is given."""

    fail_before = False
    fail_after = False
    cannot_read = False
    next_listing: list[str] | None = None

    def create(self, path: str, data: bytes) -> None:
        with self._explaining("create", path):
            if self.fail_before:
                raise OSError(errno.EIO, "the disk is gone")
            super().create(path, data)
            if self.fail_after:
                raise OSError(errno.EIO, "the disk is gone")

    def open(self, path: str) -> Any:
        with self._explaining("read", path):
            if self.cannot_read:
                raise OSError(errno.EIO, "the disk is gone")
            return super().open(path)

    def list(self, directory: str) -> list[str]:
        listing, self.next_listing = self.next_listing, None
        return super().list(directory) if listing is None else listing


@pytest.fixture
def files(tmp_path: Path) -> FailingFiles:
    return FailingFiles(str(tmp_path))


def take(files: CheckpointFiles, name: str) -> JobOwnership:
    """Take over as another driver."""

    def claim(latest: LogEntry | None) -> LogEntry:
        number = 1 if latest is None else latest.number + 1
        ids_to = (0 if latest is None else latest.ids_to) + IDS_AHEAD
        checkpoints = [] if latest is None else latest.checkpoints
        return LogEntry(number, "claim", Owner(name, f"host-{name}", 7), number, "id", "job", 0, ids_to, checkpoints)

    log = JobLog(files, "job")
    return JobOwnership(ManualClock(), log, log.claim(claim)[0])


def latest(files: LocalCheckpointFiles) -> LogEntry:
    entry = JobLog(files, "job").latest()
    assert entry is not None
    return entry


def checkpoint(number: int) -> list[CheckpointReference]:
    return [CheckpointReference(number, f"/c/chk-{number}", 5)]


def numbers(files: LocalCheckpointFiles) -> list[int]:
    return [int(name.removeprefix("entry-")) for name in files.list("job")]


class TestEntries:
    entry = LogEntry(3, "checkpoint", Owner("a", "h", 1), 2, "id", "ünï", 9, 20, checkpoint(4), None)

    def test_say_who_wrote_them_and_when(self) -> None:
        moment = datetime(2024, 5, 17, 13, 30, 45)
        entry = msgspec.structs.replace(self.entry, time=int(moment.timestamp()) * 1000)
        assert entry.describe() == "process 1 on h (2024-05-17 13:30:45, entry 3)"

    def test_survive_a_round_trip_and_are_text(self) -> None:
        data = encode_entry(self.entry)
        assert decode_entry(data, "x") == self.entry
        assert "ünï" in data.decode()

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda data: data[:-3], "checksum"),
            (lambda data: data.replace(b'"claim":2', b'"claim":1'), "checksum"),
            (lambda data: b"RKHA 2" + data[6:], "format version 2"),
            (lambda data: b"x" + data, "does not begin"),
            (lambda data: b"", "does not begin"),
        ],
    )
    def test_that_are_damaged_say_so(self, change: Any, says: str) -> None:
        with pytest.raises(CheckpointCorruptError, match=f"/dir/entry-3.*{says}"):
            decode_entry(change(encode_entry(self.entry)), "/dir/entry-3")

    def test_that_are_whole_but_not_entries_say_so(self) -> None:
        body = b'{"number": "three"}\n'
        data = b"RKHA 1 %08x\n" % zlib.crc32(body) + body
        with pytest.raises(CheckpointCorruptError, match=r"/dir/entry-3.*Expected `int`, got `str`"):
            decode_entry(data, "/dir/entry-3")


class TestTakingOver:
    def test_the_first_driver_finds_nothing(self, files: FailingFiles) -> None:
        take(files, "a")
        assert (latest(files).number, latest(files).kind, latest(files).checkpoints) == (1, "claim", [])

    def test_the_next_one_goes_on_with_what_was_committed_and_fences_the_first(self, files: FailingFiles) -> None:
        first = take(files, "a")
        first.commit(checkpoint(3))
        second = take(files, "b")
        assert latest(files).checkpoints == checkpoint(3)
        for act in (first.check, lambda: first.commit(checkpoint(4)), first.commit_output, lambda: first.end("X")):
            with pytest.raises(JobFencedError, match=r"'job' was taken over by process 7 on host-b"):
                act()
        assert first.fenced
        second.commit(checkpoint(20))
        assert latest(files).checkpoints == checkpoint(20)

    def test_a_driver_that_wakes_up_when_its_number_is_deleted_is_fenced(self, files: FailingFiles) -> None:
        first = take(files, "a")
        second = take(files, "b")
        for number in range(11, 40):
            second.commit(checkpoint(number))
        assert 2 not in numbers(files), "the number that the first driver is about to write is free again"
        with pytest.raises(JobFencedError, match="host-b"):
            first.commit(checkpoint(2))
        assert latest(files).checkpoints == checkpoint(39)
        second.commit(checkpoint(40))

    def test_also_when_the_job_is_over(self, files: FailingFiles) -> None:
        first, second = take(files, "a"), take(files, "b")
        second.end("FINISHED")
        assert numbers(files) == [3], "one entry stays, so that numbers never begin anew"
        with pytest.raises(JobFencedError):
            first.commit(checkpoint(2))
        assert latest(files).over

    def test_also_when_the_directory_was_deleted_by_hand(self, files: FailingFiles) -> None:
        first = take(files, "a")
        files.delete("job")
        with pytest.raises(JobFencedError):
            first.commit(checkpoint(1))
        files.delete("job")
        other = take(files, "b")
        files.delete("job")
        with pytest.raises(JobFencedError, match="the log was deleted"):
            other.check()

    def test_also_when_a_listing_misses_what_came_and_went_meanwhile(self, files: FailingFiles) -> None:
        first, second = take(files, "a"), take(files, "b")
        for number in range(11, 40):
            second.commit(checkpoint(number))
        files.next_listing = ["entry-000000000002"]  # its own entry only: the others were deleted or new
        with pytest.raises(JobFencedError):
            first.commit(checkpoint(2))

    def test_also_when_another_late_driver_has_filled_its_last_number(self, files: FailingFiles) -> None:
        first, second, third = take(files, "a"), take(files, "b"), take(files, "c")
        for number in range(21, 50):
            third.commit(checkpoint(number))
        with pytest.raises(JobFencedError):
            first.commit(checkpoint(1))
        assert 2 in numbers(files), "the number of the second driver's claim, with another entry"
        files.next_listing = ["entry-000000000003"]
        with pytest.raises(JobFencedError):
            second.commit(checkpoint(11))

    def test_few_entries_are_kept(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        for number in range(1, 30):
            owner.commit(checkpoint(number))
        assert numbers(files) == list(range(25, 31))

    def test_a_fenced_driver_deletes_nothing(self, files: FailingFiles) -> None:
        first, second = take(files, "a"), take(files, "b")
        for number in range(11, 20):
            second.commit(checkpoint(number))
        before = set(numbers(files))
        with pytest.raises(JobFencedError):
            first.commit(checkpoint(2))
        assert before <= set(numbers(files))


class TestIds:
    def test_are_reserved_before_they_are_used_beyond_the_range(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        owner.reserve(IDS_AHEAD)
        assert numbers(files) == [1]
        owner.reserve(IDS_AHEAD + 1)
        assert (latest(files).kind, latest(files).ids_to) == ("ids", 2 * IDS_AHEAD + 1)

    def test_a_commit_reserves_the_next_ones(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        owner.commit(checkpoint(9))
        owner.reserve(9 + IDS_AHEAD)
        assert numbers(files) == [1, 2]

    def test_a_fenced_driver_gets_no_more(self, files: FailingFiles) -> None:
        first = take(files, "a")
        take(files, "b")
        with pytest.raises(JobFencedError):
            first.reserve(IDS_AHEAD + 1)

    def test_a_driver_that_was_fenced_once_does_not_even_try_again(self, files: FailingFiles) -> None:
        first = take(files, "a")
        take(files, "b")
        with pytest.raises(JobFencedError) as fenced:
            first.commit(checkpoint(1))
        for number in numbers(files):
            files.delete(f"job/entry-{number:012d}")
        files.create("job/entry-000000000001", encode_entry(first._last))  # all is as it was when it owned the job
        with pytest.raises(JobFencedError) as again:
            first.commit(checkpoint(1))
        assert again.value is fenced.value
        with pytest.raises(JobFencedError):
            first.check()
        assert numbers(files) == [1]

    def test_an_entry_of_another_driver_under_the_last_number_is_a_fence(self, files: FailingFiles) -> None:
        first = take(files, "a")
        first.check()
        files.delete("job/entry-000000000001")
        take(files, "b")
        assert numbers(files) == [1]
        with pytest.raises(JobFencedError, match="taken over by process 7 on host-b"):
            first.check()


class TestStorageThatFails:
    def test_a_log_that_others_write_all_the_time_is_not_claimed(
        self, files: FailingFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(JobLog, "_lost", lambda self, entry, before: True)
        with pytest.raises(CheckpointStorageError, match="changes faster than it can be claimed"):
            take(files, "a")

    def test_a_log_whose_entries_go_all_the_time_is_not_read(
        self, files: FailingFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take(files, "a")
        monkeypatch.setattr(JobLog, "_read", lambda self, number: None)
        with pytest.raises(CheckpointStorageError, match="changes faster than it can be read"):
            JobLog(files, "job").latest()

    def test_an_entry_that_is_not_there_is_an_error_and_can_be_tried_again(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        files.fail_before = True
        with pytest.raises(CheckpointStorageError, match="the disk is gone"):
            owner.commit(checkpoint(1))
        files.fail_before = False
        owner.commit(checkpoint(2))
        assert latest(files).checkpoints == checkpoint(2)

    def test_an_entry_that_is_there_all_the_same_counts(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        files.fail_after = True
        owner.commit(checkpoint(1))
        assert latest(files).checkpoints == checkpoint(1)

    def test_a_driver_that_cannot_tell_stops(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        files.fail_after = files.cannot_read = True
        with pytest.raises(JobFencedError, match=r"cannot tell whether entry 2 .* was written"):
            owner.commit(checkpoint(1))
        assert owner.fenced, "it must not delete the checkpoint: the next driver may find the entry"

    def test_a_driver_that_cannot_read_an_entry_again_cannot_tell_either(self, files: FailingFiles) -> None:
        owner = take(files, "a")
        Path(files.root, "job/entry-000000000001").write_bytes(b"rotten")
        with pytest.raises(JobFencedError, match=r"cannot tell whether entry 2 .* was written"):
            owner.commit(checkpoint(1))
        assert owner.fenced
        assert latest(files).checkpoints == checkpoint(1), "it counts: its checkpoint must not be deleted"

    def test_a_look_that_fails_is_no_fence(self, files: FailingFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        owner = take(files, "a")

        def fail(directory: str) -> list[str]:
            raise CheckpointStorageError("cannot list")

        monkeypatch.setattr(files, "list", fail)
        owner.check()
        assert not owner.fenced


def test_without_a_log_everything_is_allowed() -> None:
    owner = JobOwnership(ManualClock())
    owner.reserve(1 << 40)
    owner.commit(checkpoint(1))
    owner.commit_output()
    owner.check()
    owner.end("FINISHED")
    assert not owner.fenced
    assert not owner.shared


def test_what_the_storage_may_write_yet_is_no_failure_to_go_on_from(
    files: FailingFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that was not answered may land later: the entry counts then, and its checkpoint must still be there."""
    owner = take(files, "a")

    def unanswered(self: FailingFiles, path: str, data: bytes) -> None:
        with self._explaining("create", path):
            raise OutcomeUnknownError("the store does not answer")

    monkeypatch.setattr(FailingFiles, "create", unanswered)
    with pytest.raises(JobFencedError, match=r"cannot tell whether entry 2 .* was written"):
        owner.commit(checkpoint(1))
    assert owner.fenced


def test_a_storage_that_overwrites_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old server with S3's interface ignores conditions."""
    objects = DiskObjects(tmp_path)
    monkeypatch.setattr(objects, "create", lambda path, data: objects.write(path, io.BytesIO(data)))
    with pytest.raises(ConfigurationError, match=r"ignores If-None-Match.*cannot keep two drivers of one job apart"):
        take(RemoteCheckpointFiles(objects), "a")
    assert objects.walk() == []
    take(RemoteCheckpointFiles(DiskObjects(tmp_path)), "a")
    assert objects.walk() == ["job/entry-000000000001"]
