"""The rules of FileSink: the life of its files, its buckets, its names, its errors."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import msgspec
import pytest

from rekindle.common import Row, TypeInformation, Types
from rekindle.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from rekindle.common.time import Duration
from rekindle.connectors.files.file_sink_writer import FileCommittable, FileSinkWriter
from rekindle.connectors.files.local_sink_files import LocalSinkFiles
from rekindle.connectors.files.remote_sink_files import RemoteSinkFiles
from rekindle.connectors.files.sink_base_path import sink_files
from rekindle.connectors.files.sink_files import FileSinkError
from rekindle.datastream.connectors import file_system
from rekindle.datastream.connectors.base import SinkWriter, SinkWriterContext
from rekindle.datastream.connectors.file_system import (
    BucketAssigner,
    BulkFormat,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from rekindle.exceptions import ConfigurationError, OutputLostError, StateRestoreError
from rekindle.storage.hdfs_files import HdfsFiles
from rekindle.storage.object_files import ObjectFiles
from rekindle.types.spark_rows import row_maker
from support.disk_storage import DiskFiles

NOON = 1_700_049_600_000  # 2023-11-15 12:00:00 UTC


class ManualClock:
    """Tell the time a test sets."""

    def __init__(self, millis: int = NOON) -> None:
        self.millis = millis

    def now(self) -> int:
        """Return the time that was set."""
        return self.millis


@dataclass
class Output:
    """Open writers on one directory, and look at what is there."""

    path: Path
    kind: str = "local"
    clock: ManualClock = field(default_factory=ManualClock)
    writers: list[SinkWriter] = field(default_factory=list)

    def sink(self, configure: Callable[[FileSink.RowFormatBuilder], object] | None = None) -> FileSink:
        builder = FileSink.for_row_format(str(self.path), Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        if configure:
            configure(builder)
        return builder.build()

    def writer(
        self,
        subtask: int = 0,
        parallelism: int = 1,
        lineage: str = "job-sink",
        configure: Callable[[FileSink.RowFormatBuilder], object] | None = None,
        job_id: str = "job",
        successor_of: str = "",
    ) -> SinkWriter:
        sink = self.sink(configure)
        context = SinkWriterContext(subtask, parallelism, 0, lineage, self.clock, None, job_id, successor_of)
        if self.kind == "remote":
            files = RemoteSinkFiles(DiskFiles(self.path))
            files.create_base()
            writer: SinkWriter = FileSinkWriter(sink._settings, files, context)
        else:
            writer = sink.create_writer(context)
        self.writers.append(writer)
        return writer

    def all(self) -> list[str]:
        return sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file())

    def hidden(self) -> list[str]:
        return [name for name in self.all() if os.path.basename(name).startswith(".")]

    def finished(self) -> list[str]:
        return [name for name in self.all() if not os.path.basename(name).startswith(".")]

    def content(self) -> list[bytes]:
        return [(self.path / name).read_bytes() for name in self.finished()]


@pytest.fixture(params=["local", "remote"])
def output(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Output]:
    output = Output(tmp_path / "out", request.param)
    yield output
    for writer in output.writers:
        writer.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Output]:
    output = Output(tmp_path / "out")
    yield output
    for writer in output.writers:
        writer.close()


def committable_of(data: bytes) -> FileCommittable:
    return msgspec.msgpack.decode(data, type=FileCommittable)


class ByFirstLetter(BucketAssigner):
    """Put each record into the directory of its first letter."""

    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return f"letter={value[0]}"


class ByTime(BucketAssigner):
    """Put each record into the directory of the time it is given."""

    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return str(timestamp_or_now)


class Fixed(BucketAssigner):
    """Put all records into one directory."""

    def __init__(self, bucket: Any) -> None:
        self.bucket = bucket

    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        bucket: str = self.bucket
        return bucket


# ---- The life of a file ----


def test_a_file_is_in_progress_then_pending_then_finished(output: Output) -> None:
    writer = output.writer(subtask=2, parallelism=4)
    writer.write(["a", "b"], None)
    assert re.fullmatch(r"\.rekindle-[0-9a-f]{16}-2-[0-9a-f]{32}-0\.inprogress", "\n".join(output.all()))

    committables = writer.prepare_commit(1)
    assert re.fullmatch(r"\.rekindle-[0-9a-f]{16}-2-[0-9a-f]{32}-0\.pending", "\n".join(output.all()))
    assert len(committables) == 1

    writer.commit(committables)
    assert re.fullmatch(r"part-2-[0-9a-f]{32}-0", "\n".join(output.all()))
    assert output.content() == [b"a\nb\n"]


def test_a_committable_holds_relative_paths_and_the_size(output: Output) -> None:
    writer = output.writer(configure=lambda b: b.with_bucket_assigner(ByFirstLetter()))
    writer.write(["ab"], None)
    committable = committable_of(writer.prepare_commit(1)[0])
    assert committable.size == 3
    assert output.all() == [committable.pending]
    assert committable.pending.startswith("letter=a/.")
    writer.commit([msgspec.msgpack.encode(committable)])
    assert output.all() == [committable.finished]
    assert committable.finished.startswith("letter=a/part-0-")


def test_records_of_several_writes_share_a_file_until_the_barrier(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    writer.write(["b"], None)
    first = writer.prepare_commit(1)
    writer.write(["c"], None)
    second = writer.prepare_commit(2)
    writer.commit(first)
    assert output.content() == [b"a\nb\n"]
    writer.commit(second)
    assert sorted(output.content()) == [b"a\nb\n", b"c\n"]


def test_a_barrier_without_records_prepares_nothing(output: Output) -> None:
    writer = output.writer()
    assert writer.prepare_commit(1) == []
    writer.write(["a"], None)
    assert len(writer.prepare_commit(2)) == 1
    assert writer.prepare_commit(3) == []


def test_records_without_bytes_make_no_file(local: Output) -> None:
    class OnlyWords:
        def encode(self, value: Any) -> bytes:
            return value.encode() if value.isalpha() else b""

    sink = FileSink.for_row_format(local.path, OnlyWords()).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write(["1", "2"], None)
    assert local.all() == []
    assert writer.prepare_commit(1) == []
    writer.write(["1", "two"], None)
    writer.commit(writer.prepare_commit(2))
    assert local.content() == [b"two"]


class Held(BulkWriter):
    """Hold all records until the file ends, and say nothing about it."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, values: list[Any]) -> bytes:
        self.values += values
        return b""

    def finish(self) -> bytes:
        if "unfinishable" in self.values:
            raise ValueError("it does not fit")
        return f"{self.values}".encode()


class HeldFactory(BulkWriterFactory):
    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        return Held()


def test_a_format_may_hold_its_records_until_the_file_ends(local: Output) -> None:
    sink = FileSink.for_bulk_format(local.path, HeldFactory()).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    for number in (1, 2):
        writer.write([number, "a"], None)
        writer.write(["b"], None)
        writer.commit(writer.prepare_commit(number))
    assert sorted(local.content()) == [b"[1, 'a', 'b']", b"[2, 'a', 'b']"]


def test_a_file_that_its_format_cannot_finish_is_lost_output(local: Output) -> None:
    sink = FileSink.for_bulk_format(local.path, HeldFactory()).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write(["unfinishable"], None)
    with pytest.raises(OutputLostError, match=r"cannot finish .*out/\.rekindle-.*: it does not fit"):
        writer.prepare_commit(1)
    writer.close()
    assert local.all() == []


def test_files_of_two_writers_never_collide(output: Output) -> None:
    first, second = output.writer(), output.writer()
    for writer in (first, second):
        writer.write(["a"], None)
        writer.commit(writer.prepare_commit(1))
    assert output.content() == [b"a\n", b"a\n"]


def test_prepare_commit_syncs_the_file_then_renames_it_then_syncs_its_directory(
    local: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, int]] = []
    fsync, rename = os.fsync, os.rename

    def recording_fsync(descriptor: int) -> None:
        events.append(("sync", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def recording_rename(source: str, target: str) -> None:
        events.append(("rename", os.stat(source).st_ino))
        rename(source, target)

    writer = local.writer()
    writer.write(["a"], None)
    file, directory = (local.path / local.all()[0]).stat().st_ino, local.path.stat().st_ino
    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(os, "rename", recording_rename)
    committables = writer.prepare_commit(1)
    assert events == [("sync", file), ("rename", file), ("sync", directory)]
    events.clear()
    writer.commit(committables)
    assert events == [("rename", file), ("sync", directory)]


def test_close_removes_files_in_progress_and_keeps_pending_ones(output: Output) -> None:
    small_parts = RollingPolicy.default_rolling_policy(part_size=1)
    writer = output.writer(configure=lambda b: b.with_rolling_policy(small_parts))
    writer.write(["pending"], None)
    [pending] = map(committable_of, writer.prepare_commit(1))
    writer.write(["rolled"], None)
    other = output.writer()
    other.write(["open"], None)
    assert len(output.all()) == 3
    writer.close()
    other.close()
    assert output.all() == [pending.pending]


def test_close_twice_is_the_same_as_once(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    writer.close()
    writer.close()
    assert output.all() == []


# ---- Commit ----


def test_a_repeated_commit_changes_nothing(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    committables = writer.prepare_commit(1)
    writer.commit(committables)
    before = output.all()
    writer.commit(committables)
    assert output.all() == before
    assert output.content() == [b"a\n"]


def test_another_writer_commits_after_a_restore_and_removes_what_came_later(output: Output) -> None:
    crashed = output.writer()
    crashed.write(["in the checkpoint"], None)
    committables = crashed.prepare_commit(1)
    crashed.write(["pending, after the checkpoint"], None)
    crashed.prepare_commit(2)
    crashed.write(["in progress"], None)

    restored = output.writer()
    restored.commit(committables)
    restored.abort_leftovers()
    assert output.content() == [b"in the checkpoint\n"]
    assert output.hidden() == []


@pytest.mark.parametrize("committed", [False, True])
def test_with_another_base_path_files_are_finished_where_they_were_written(tmp_path: Path, committed: bool) -> None:
    before, after = Output(tmp_path / "before"), Output(tmp_path / "after")
    first = before.writer()
    first.write(["early"], None)
    committables = first.prepare_commit(1)
    if committed:
        first.commit(committables)
    second = after.writer()
    second.commit(committables)
    second.write(["late"], None)
    second.commit(second.prepare_commit(2))
    assert (before.content(), before.hidden()) == ([b"early\n"], [])
    assert (after.content(), after.hidden()) == ([b"late\n"], [])


def test_files_that_moved_with_their_base_path_are_finished_there(tmp_path: Path) -> None:
    before = Output(tmp_path / "before")
    writer = before.writer()
    writer.write(["early"], None)
    committables = writer.prepare_commit(1)
    after = Output((tmp_path / "before").rename(tmp_path / "after"))
    after.writer().commit(committables)
    assert after.content() == [b"early\n"]


def test_commit_raises_when_pending_and_finished_file_are_gone(output: Output) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    (output.path / output.all()[0]).unlink()
    with pytest.raises(FileSinkError, match=r"part-0-\w+-0: neither .* 4 bytes are lost.* removed") as raised:
        writer.commit(committables)
    assert committable_of(committables[0]).pending in str(raised.value)


def test_commit_removes_a_pending_file_whose_finished_copy_is_whole(output: Output) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    committable = committable_of(committables[0])
    (output.path / committable.finished).write_bytes(b"abc\n")
    writer.commit(committables)
    assert output.all() == [committable.finished]
    assert output.content() == [b"abc\n"]


@pytest.mark.parametrize("pending_is_there", [True, False])
def test_commit_raises_when_the_finished_file_has_another_size(output: Output, pending_is_there: bool) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    committable = committable_of(committables[0])
    (output.path / committable.finished).write_bytes(b"ab")
    if not pending_is_there:
        (output.path / committable.pending).unlink()
    before = output.all()
    with pytest.raises(FileSinkError, match=r"has 2 bytes, the checkpoint says 4"):
        writer.commit(committables)
    assert output.all() == before


def test_commit_raises_when_the_pending_file_was_cut(output: Output) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    (output.path / committable_of(committables[0]).pending).write_bytes(b"a")
    with pytest.raises(FileSinkError, match=r"pending has 1 bytes, the checkpoint says 4"):
        writer.commit(committables)
    assert output.finished() == []


@pytest.mark.parametrize("data", [b"", b"\xff", msgspec.msgpack.encode({"pending": "a", "format": "other"})])
def test_commit_raises_on_a_committable_of_another_sink(local: Output, data: bytes) -> None:
    with pytest.raises(StateRestoreError, match="not of this version's FileSink"):
        local.writer().commit([data])


# ---- Leftovers ----


def leave_behind(output: Output, subtask: int, parallelism: int, lineage: str, text: str) -> set[str]:
    before = set(output.all())
    writer = output.writer(
        subtask, parallelism, lineage, configure=lambda b: b.with_bucket_assigner(Fixed(f"dir/{text}"))
    )
    writer.write(["pending"], None)
    writer.prepare_commit(1)
    writer.write(["in progress"], None)
    return set(output.all()) - before


def test_leftovers_of_the_own_subtask_are_removed_in_all_buckets(output: Output) -> None:
    leave_behind(output, 0, 2, "job-sink", "a")
    leave_behind(output, 0, 2, "job-sink", "b")
    assert len(output.hidden()) == 4
    output.writer(0, 2).abort_leftovers()
    assert output.all() == []


def test_leftovers_of_other_subtasks_and_lineages_stay(output: Output) -> None:
    mine = leave_behind(output, 0, 2, "job-sink", "mine")
    other_subtask = leave_behind(output, 1, 2, "job-sink", "subtask")
    other_lineage = leave_behind(output, 0, 2, "other-sink", "lineage")
    assert len(mine) == len(other_subtask) == len(other_lineage) == 2
    output.writer(0, 2).abort_leftovers()
    assert set(output.all()) == other_subtask | other_lineage


def test_a_job_that_is_started_from_the_checkpoint_of_another_removes_what_that_left(output: Output) -> None:
    for job_id in ("first", "second", "third"):
        before = output.writer(job_id=job_id)
        before.write(["a"], None)
        before.prepare_commit(1)
    output.writer(job_id="third", successor_of="second").abort_leftovers()
    assert len(output.hidden()) == 1, "that of the first job"
    output.writer(job_id="second", successor_of="first").abort_leftovers()
    assert not output.hidden()


def test_two_jobs_from_one_savepoint_leave_each_others_files_alone(
    output: Output, caplog: pytest.LogCaptureFixture
) -> None:
    first = output.writer(job_id="first")
    first.write(["a"], None)
    committables = first.prepare_commit(1)
    first.write(["b"], None)
    restored = output.writer(job_id="second")
    restored.abort_leftovers()
    assert "2 hidden files (.rekindle-" in caplog.text
    restored.write(["c"], None)
    restored.commit(restored.prepare_commit(2))
    first.commit(committables)
    first.commit(first.prepare_commit(2))
    assert sorted(output.content()) == [b"a\n", b"b\n", b"c\n"]
    caplog.clear()
    output.writer(job_id="second").abort_leftovers()
    assert not caplog.records
    assert not output.hidden()


def test_when_clocks_are_set_back_for_winter_the_hour_that_comes_twice_is_one_bucket_and_no_file_is_replaced(
    local: Output,
) -> None:
    before, after = 1_792_888_200_000, 1_792_891_800_000  # 2:30 in summer time, and again an hour later
    assigner = BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd--HHmm", "Europe/Zurich")
    for text, now in (("summer", before), ("winter", after), ("set back by hand", before - 10_000)):
        local.clock.millis = now
        writer = local.writer(configure=lambda builder: builder.with_bucket_assigner(assigner))
        writer.write([text], None)
        writer.commit(writer.prepare_commit(1))
    names = sorted((local.path / "2026-10-25--0230").iterdir())
    assert sorted(name.read_text() for name in names) == ["summer\n", "winter\n"]
    assert [name.parent.name for name in local.path.rglob("part-*") if "hand" in name.read_text()] == [
        "2026-10-25--0229"
    ]


def test_after_a_rescale_leftovers_go_by_subtask_modulo_parallelism(output: Output) -> None:
    left = {subtask: leave_behind(output, subtask, 4, "job-sink", str(subtask)) for subtask in range(4)}
    output.writer(1, 2).abort_leftovers()
    assert set(output.all()) == left[0] | left[2]
    output.writer(0, 2).abort_leftovers()
    assert output.all() == []


def test_leftovers_spare_finished_and_foreign_files(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    writer.commit(writer.prepare_commit(1))
    (output.path / ".rekindle-note.pending").write_text("of somebody else")
    (output.path / "_SUCCESS").write_text("")
    before = output.all()
    output.writer().abort_leftovers()
    assert output.all() == before
    assert len(before) == 3


# ---- What savepoints refer to ----


def kept_files(output: Output) -> list[bytes]:
    """Let a writer write, keep what it wrote for a savepoint, and be gone; return what the savepoint refers to."""
    writer = output.writer()
    writer.write(["of the savepoint"], None)
    committables = writer.prepare_commit(1)
    writer.keep(committables)
    writer.write(["pending, after the savepoint"], None)
    writer.prepare_commit(2)
    writer.write(["in progress"], None)
    return committables


def test_leftovers_spare_what_a_savepoint_refers_to(output: Output) -> None:
    committables = kept_files(output)
    pending = committable_of(committables[0]).pending
    output.writer().abort_leftovers()
    assert output.all() == [pending.removesuffix(".pending") + ".kept"]
    assert output.hidden() == output.all(), "it is not visible"


def test_what_was_kept_is_committed_by_whoever_restores_the_savepoint(output: Output) -> None:
    committables = kept_files(output)
    output.writer().abort_leftovers()
    restored = output.writer(lineage="another-job")
    for _ in range(2):
        restored.commit(committables)
        assert output.content() == [b"of the savepoint\n"]
    assert output.hidden() == []


def test_what_was_kept_is_committed_with_the_next_checkpoint_that_names_it_as_pending(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    committables = writer.prepare_commit(1)
    writer.keep(committables)
    writer.commit(committables)
    assert output.all() == [committable_of(committables[0]).finished]
    assert output.content() == [b"a\n"]


def test_what_is_kept_twice_or_was_committed_before_stays_as_it_is(output: Output) -> None:
    writer = output.writer()
    writer.write(["a"], None)
    committables = writer.prepare_commit(1)
    for act in (writer.keep, writer.commit):
        act(committables)
        before = output.all()
        writer.keep(committables)
        assert output.all() == before
    assert output.content() == [b"a\n"]


def test_commit_removes_a_kept_file_whose_finished_copy_is_whole(output: Output) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    writer.keep(committables)
    finished = committable_of(committables[0]).finished
    (output.path / finished).write_bytes(b"abc\n")
    writer.commit(committables)
    assert output.all() == [finished]


def test_commit_raises_when_the_kept_file_was_cut(output: Output) -> None:
    writer = output.writer()
    writer.write(["abc"], None)
    committables = writer.prepare_commit(1)
    writer.keep(committables)
    (output.path / output.all()[0]).write_bytes(b"a")
    with pytest.raises(FileSinkError, match=r"kept has 1 bytes, the checkpoint says 4"):
        writer.commit(committables)
    assert output.finished() == []


def test_with_another_base_path_kept_files_are_finished_where_they_were_written(tmp_path: Path) -> None:
    before, after = Output(tmp_path / "before"), Output(tmp_path / "after")
    first = before.writer()
    first.write(["early"], None)
    committables = first.prepare_commit(1)
    first.keep(committables)
    after.writer().commit(committables)
    assert (before.content(), before.hidden(), after.all()) == ([b"early\n"], [], [])


# ---- Rolling ----


def test_a_file_rolls_when_a_chunk_reaches_the_part_size(output: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=6)
    writer = output.writer(configure=lambda b: b.with_rolling_policy(policy))
    for chunk in (["a", "b"], ["c"], ["d"], ["a chunk is not cut", "x"], ["e"]):
        writer.write(chunk, None)
    committables = writer.prepare_commit(1)
    assert [committable_of(c).size for c in committables] == [6, 23, 2]
    writer.commit(committables)
    assert output.content() == [b"a\nb\nc\n", b"d\na chunk is not cut\nx\n", b"e\n"]


def test_files_that_rolled_stay_in_progress_until_the_barrier(output: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=1)
    writer = output.writer(configure=lambda b: b.with_rolling_policy(policy))
    writer.write(["a"], None)
    writer.write(["b"], None)
    assert [name.rpartition(".")[2] for name in output.all()] == ["inprogress"] * 2
    assert len(writer.prepare_commit(1)) == 2
    assert [name.rpartition(".")[2] for name in output.all()] == ["pending"] * 2


def parts_after_two_minutes(local: Output, write_every: int, policy: RollingPolicy, check: int) -> int:
    local.clock.millis = NOON
    writer = local.writer(configure=lambda b: b.with_rolling_policy(policy).with_bucket_check_interval(check))
    for seconds in range(0, 121, write_every):
        local.clock.millis = NOON + seconds * 1000
        writer.write(["a"], None)
    return len(writer.prepare_commit(1))


def test_a_file_rolls_by_age(local: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=60_000, inactivity_interval=3_600_000)
    assert parts_after_two_minutes(local, 10, policy, check=1000) == 3


def test_a_file_rolls_by_inactivity(local: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=3_600_000, inactivity_interval=30_000)
    assert parts_after_two_minutes(local, 10, policy, check=1000) == 1
    assert parts_after_two_minutes(local, 40, policy, check=1000) == 4


def test_age_is_looked_at_once_in_a_bucket_check_interval(local: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=10_000)
    assert parts_after_two_minutes(local, 10, policy, check=10_000) == 13
    assert parts_after_two_minutes(local, 10, policy, check=60_000) == 3


def test_the_checkpoint_policy_rolls_at_the_barrier_only(local: Output) -> None:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    assert parts_after_two_minutes(local, 40, policy, check=1) == 1
    assert not policy.should_roll_on_event(1 << 50)


def test_the_default_rolling_policy_has_flinks_defaults() -> None:
    policy = RollingPolicy.default_rolling_policy()
    assert (policy.part_size, policy.rollover_interval, policy.inactivity_interval) == (
        1 << 27,
        60_000,
        60_000,
    )


def test_intervals_may_be_durations(local: Output) -> None:
    policy = RollingPolicy.default_rolling_policy(1, Duration.of_seconds(2), timedelta(seconds=3))
    assert (policy.rollover_interval, policy.inactivity_interval) == (2000, 3000)
    sink = local.sink(lambda b: b.with_bucket_check_interval(Duration.of_seconds(4)))
    assert sink._settings.bucket_check_interval == 4000


@pytest.mark.parametrize("parameter", ["part_size", "rollover_interval", "inactivity_interval"])
def test_a_rolling_policy_with_zero_raises(parameter: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{parameter} must be greater than zero, got 0"):
        RollingPolicy.default_rolling_policy(**{parameter: 0})


def test_a_bucket_check_interval_of_zero_raises(local: Output) -> None:
    with pytest.raises(ConfigurationError, match="interval must be greater than zero, got -1"):
        local.sink(lambda b: b.with_bucket_check_interval(-1))


# ---- Buckets ----


def test_without_an_assigner_files_are_in_the_base_path(local: Output) -> None:
    sink = FileSink.for_row_format(str(local.path), Encoder.simple_string_encoder()).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write(["a"], None)
    writer.commit(writer.prepare_commit(1))
    assert [os.path.dirname(name) for name in local.finished()] == [""]


def test_date_buckets_are_hours_of_processing_time(local: Output) -> None:
    writer = local.writer(configure=lambda b: b.with_bucket_assigner(BucketAssigner.date_time_bucket_assigner()))
    expected = []
    for hours in (0, 1):
        local.clock.millis = NOON + hours * 3_600_000
        writer.write(["a"], [0])  # the record's own timestamp does not count
        expected.append(_local_hour(local.clock.millis))
    writer.commit(writer.prepare_commit(1))
    assert [os.path.dirname(name) for name in local.finished()] == expected


def _local_hour(millis: int) -> str:
    return time.strftime("%Y-%m-%d--%H", time.localtime(millis // 1000))


def test_date_buckets_follow_pattern_and_time_zone(output: Output) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner("yyyy/MM/dd'T'HH", "America/Los_Angeles")
    writer = output.writer(configure=lambda b: b.with_bucket_assigner(assigner))
    writer.write(["a"], None)
    output.clock.millis += 24 * 3_600_000
    writer.write(["b"], None)
    writer.commit(writer.prepare_commit(1))
    assert [os.path.dirname(name) for name in output.finished()] == ["2023/11/15T04", "2023/11/16T04"]
    assert output.content() == [b"a\n", b"b\n"]


# Expected values are what java.time.format.DateTimeFormatter (Locale.US) gives.
@pytest.mark.parametrize(
    ("pattern", "zone", "millis", "text"),
    [
        ("yyyy-MM-dd--HH", "UTC", 1700000000123, "2023-11-14--22"),
        ("yyyyMMdd'T'HHmmss.SSS", "UTC", 1700000000123, "20231114T221320.123"),
        ("yy/M/d", "UTC", 0, "70/1/1"),
        ("'it''s' uuuu", "UTC", 0, "it's 1970"),
        ("''yyyy", "UTC", 0, "'1970"),
        ("y yyy yyyyy", "UTC", 0, "1970 1970 01970"),
        ("D DD DDD", "UTC", 0, "1 01 001"),
        ("E EEEE", "UTC", 1700000000123, "Tue Tuesday"),
        ("MMM MMMM LLL", "UTC", 1709210096007, "Feb February Feb"),
        ("Q QQ QQQ QQQQ", "UTC", 1700000000123, "4 04 Q4 4th quarter"),
        ("h hh K k kk a", "UTC", 0, "12 12 0 24 24 AM"),
        ("h hh K k kk a", "UTC", 1700000000123, "10 10 10 22 22 PM"),
        ("m s S SSSSSSSSS", "UTC", 1709210096007, "34 56 0 007000000"),
        ("X XX XXX x xx xxx Z", "UTC", 0, "Z Z Z +00 +0000 +00:00 +0000"),
        ("X XX XXX x xx xxx Z", "Asia/Kolkata", 0, "+0530 +0530 +05:30 +0530 +0530 +05:30 +0530"),
        ("HH X", "GMT-08:00", 0, "16 -08"),
        ("HH X", "UTC+1", 0, "01 +01"),
        ("HH X", "+05:30", 0, "05 +0530"),
        ("HH", "PST", 0, "16"),
        ("HH", "Z", 0, "00"),
    ],
)
def test_date_patterns_give_what_java_gives(pattern: str, zone: str, millis: int, text: str) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner(pattern, zone)
    assert assigner.get_bucket_id("any record", millis) == text


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("YYYY-ww", "letter 'Y' is not supported"),
        ("ddd", "'d' occurs 3 times in a row, at most 2"),
        ("yyyy[-MM]", r"'\[' at position 4"),
        ("yyyy 'open", '"\'" at position 5'),
    ],
)
def test_a_date_pattern_that_cannot_be_used_raises_at_once(pattern: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        BucketAssigner.date_time_bucket_assigner(pattern)


@pytest.mark.parametrize("zone", ["Nowhere/Land", "GMT+99", "", "../UTC"])
def test_an_unknown_time_zone_raises_at_once(zone: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a time zone"):
        BucketAssigner.date_time_bucket_assigner(timezone_id=zone)


def test_a_users_assigner_sends_each_record_to_its_bucket_in_order(output: Output) -> None:
    writer = output.writer(configure=lambda b: b.with_bucket_assigner(ByFirstLetter()))
    writer.write(["a1", "b1", "a2"], None)
    writer.write(["b2"], None)
    writer.commit(writer.prepare_commit(1))
    assert [os.path.dirname(name) for name in output.finished()] == ["letter=a", "letter=b"]
    assert output.content() == [b"a1\na2\n", b"b1\nb2\n"]


def test_a_users_assigner_gets_the_timestamp_or_else_the_time(local: Output) -> None:
    writer = local.writer(configure=lambda b: b.with_bucket_assigner(ByTime()))
    writer.write(["a", "b"], [5, None])
    writer.write(["c"], None)
    writer.commit(writer.prepare_commit(1))
    contents = {os.path.dirname(name): (local.path / name).read_bytes() for name in local.finished()}
    assert contents == {"5": b"a\n", str(NOON): b"b\nc\n"}


@pytest.mark.parametrize("bucket", ["../elsewhere", "/elsewhere", "a/../../b", "a\0b", 7])
def test_a_bucket_outside_the_base_path_raises(local: Output, bucket: Any) -> None:
    writer = local.writer(configure=lambda b: b.with_bucket_assigner(Fixed(bucket)))
    with pytest.raises(ConfigurationError, match="get_bucket_id"):
        writer.write(["a"], None)
    assert [path.name for path in local.path.parent.iterdir()] == ["out"]
    assert local.all() == []


# ---- Names and content ----


def test_prefix_and_suffix_name_the_finished_files_only(output: Output) -> None:
    config = OutputFileConfig.builder().with_part_prefix("log-1.0").with_part_suffix(".pending").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("log-1.0", ".pending")
    writer = output.writer(configure=lambda b: b.with_output_file_config(config))
    writer.write(["a"], None)
    writer.commit(writer.prepare_commit(1))
    writer.write(["b"], None)
    assert re.fullmatch(r"log-1\.0-0-[0-9a-f]{32}-0\.pending", "\n".join(output.finished()))
    assert len(output.hidden()) == 1
    output.writer().abort_leftovers()
    assert output.content() == [b"a\n"]
    assert output.hidden() == []


@pytest.mark.parametrize("config", [("a/b", ""), ("part", "/x"), ("part", "\0")])
def test_a_prefix_or_suffix_that_is_no_name_raises(config: tuple[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be in a file's name"):
        OutputFileConfig(*config)


@pytest.mark.parametrize("assigner", [BucketAssigner.base_path_bucket_assigner(), Fixed("")])
@pytest.mark.parametrize("charset", ["UTF-8", "UTF-16-LE", "UTF-16"])
def test_values_are_written_as_they_are_encoded_one_by_one(
    local: Output, assigner: BucketAssigner, charset: str
) -> None:
    encoder = Encoder.simple_string_encoder(charset)
    values = ["two\nlines", "ünïcödé ✓ 漢字 🔥", "", 7, None, ("a", 1), Row(a=1), [1]]
    sink = FileSink.for_row_format(local.path, encoder).with_bucket_assigner(assigner).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write(values, None)
    writer.write(["end"], None)
    writer.commit(writer.prepare_commit(1))
    assert local.content() == [b"".join(encoder.encode(value) for value in [*values, "end"])]


ROW = Types.ROW_NAMED(["user", "visits"], [Types.STRING(), Types.INT()])
FORMS = {
    "row": (Row(user="u1", visits=2), None),
    "row of a DataFrame": (row_maker(("user", "visits"))(("u1", 2)), None),
    "named tuple": (NamedTuple("Visits", [("user", str), ("visits", int)])("u1", 2), None),
    "dict": ({"user": "u1", "visits": 2}, None),
    "dataclass": (make_dataclass("Visits", ["user", "visits"])("u1", 2), None),
    "struct": (msgspec.defstruct("Visits", ["user", "visits"])("u1", 2), None),
    "typed row": (Row("u1", 2), ROW),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoder", [None, Encoder.simple_string_encoder()])
def test_records_with_fields_are_lines_of_json(local: Output, form: str, encoder: Encoder | None) -> None:
    value, type_info = FORMS[form]
    sink = FileSink.for_row_format(local.path, encoder).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock, type_info))
    writer.write([value, value], None)
    writer.commit(writer.prepare_commit(1))
    line = b'{"user":"u1","visits":2}\n'
    if encoder is not None and type_info is not None:
        line = b"+I[u1, 2]\n"  # PyFlink's form, for programs that ask for it
    assert local.content() == [2 * line]


def test_text_that_the_charset_lacks_raises(local: Output) -> None:
    sink = FileSink.for_row_format(local.path, Encoder.simple_string_encoder("ISO-8859-1")).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    with pytest.raises(UnicodeEncodeError):
        writer.write(["漢字"], None)


def test_anything_with_encode_is_an_encoder_and_nothing_else(local: Output) -> None:
    class Semicolons:
        def encode(self, value: Any) -> bytes:
            return f"{value};".encode()

    sink = FileSink.for_row_format(local.path, Semicolons()).build()
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write([1, 2], None)
    writer.commit(writer.prepare_commit(1))
    assert local.content() == [b"1;2;"]
    with pytest.raises(TypeError, match=r"encode\(value\) -> bytes"):
        FileSink.for_row_format(local.path, object())  # type: ignore[arg-type]


def test_a_chunk_is_one_write(local: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    monkeypatch.setattr(LocalSinkFiles, "append", lambda self, path, stream, data: writes.append(data))
    writer = local.writer()
    writer.write([str(number) for number in range(1000)], None)
    assert writes == ["".join(f"{number}\n" for number in range(1000)).encode()]


# ---- Base path ----


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_a_local_base_path_has_many_forms_and_is_created(tmp_path: Path, form: str) -> None:
    target = tmp_path / "deep" / "out put"
    sink = FileSink.for_row_format(form.format(target), Encoder.simple_string_encoder()).build()
    sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", ManualClock()))
    assert target.is_dir()


@pytest.mark.parametrize("uri", ["file:out", "file://server/out", "file://"])
def test_a_file_uri_without_an_absolute_local_path_raises(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="for a file of this machine"):
        FileSink.for_row_format(uri, Encoder.simple_string_encoder())


def test_a_relative_base_path_counts_from_where_the_program_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    (tmp_path / "slot").mkdir()
    monkeypatch.chdir(tmp_path / "slot")
    sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", ManualClock()))
    assert (tmp_path / "out").is_dir()


def test_a_sink_travels_to_the_slot_by_pickle(local: Output) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner("yyyy", "Europe/Berlin")
    sink = cloudpickle.loads(cloudpickle.dumps(local.sink(lambda b: b.with_bucket_assigner(assigner))))
    writer = sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", local.clock))
    writer.write(["a"], None)
    writer.commit(writer.prepare_commit(1))
    assert [os.path.dirname(name) for name in local.finished()] == ["2023"]


@pytest.mark.parametrize(("uri", "kind"), [("hdfs://namenode:9000/out", HdfsFiles), ("s3://bucket/out", ObjectFiles)])
def test_other_uris_go_to_the_client_of_their_storage(uri: str, kind: type) -> None:
    files = sink_files(FileSink.for_row_format(uri).build()._settings.base_path)
    assert isinstance(files, RemoteSinkFiles)
    assert isinstance(files._files, kind)
    assert files.describe("part") == f"{uri}/part"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://key:sec/ret@bucket/out",
        "s3://bucket/out?access_key=a&secret_key=sec/ret",
        "abfs://a@b/out?sas_token=sec/ret",
    ],
)
def test_a_base_path_with_a_secret_is_refused_without_showing_it(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="has credentials in it") as raised:
        FileSink.for_row_format(uri)
    assert "sec" not in str(raised.value)


@pytest.mark.parametrize("uri", ["hdfs://host:9000/a@b", "s3://bucket/a:b", "s3://bucket/o?endpoint_override=h:90"])
def test_a_base_path_without_a_secret_is_not_taken_for_one(uri: str) -> None:
    assert FileSink.for_row_format(uri).build()._settings.base_path == uri


def test_an_unknown_scheme_raises() -> None:
    sink = FileSink.for_row_format("gopher://host/out", Encoder.simple_string_encoder()).build()
    with pytest.raises(ConfigurationError, match=r"'gopher://host/out' .*no storage with the scheme gopher.*s3://"):
        sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", ManualClock()))


# ---- Errors ----


@pytest.mark.parametrize("below", ["", "below"])
def test_a_base_path_that_is_a_file_raises(tmp_path: Path, below: str) -> None:
    (tmp_path / "out").write_text("a file")
    sink = FileSink.for_row_format(tmp_path / "out" / below, Encoder.simple_string_encoder()).build()
    with pytest.raises(FileSinkError, match=r"base directory .*out.*A file is where a directory should be"):
        sink.create_writer(SinkWriterContext(0, 1, 0, "job-sink", ManualClock()))


def test_a_base_path_that_is_a_file_raises_in_a_remote_storage_too(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(FileSinkError, match="cannot create its base directory test://out: "):
        Output(tmp_path / "out", "remote").writer()


def test_a_bucket_that_is_a_file_raises(local: Output) -> None:
    writer = local.writer(configure=lambda b: b.with_bucket_assigner(Fixed("taken")))
    (local.path / "taken").write_text("a file")
    with pytest.raises(FileSinkError, match=r"cannot create .*/taken/.*A file is where"):
        writer.write(["a"], None)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, r"Permission denied\. Make it writable for the user"),
        (errno.ENOSPC, r"No space left on device\. Free some space"),
        (errno.EMFILE, r"Too many open files\. Each bucket keeps a file open"),
        (errno.EIO, r"Input/output error\. Check the storage"),
    ],
)
def test_an_error_of_the_file_system_says_what_where_why_and_what_to_do(
    local: Output, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def failing(*args: Any, **kwargs: Any) -> None:
        raise OSError(number, os.strerror(number))

    writer = local.writer()
    writer.write(["a"], None)
    committables = writer.prepare_commit(1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(FileSinkError, match=rf"rename to 'part-.*{re.escape(str(local.path))}/.*{advice}"):
            writer.commit(committables)
    writer.commit(committables)
    assert local.content() == [b"a\n"]


def test_a_missing_permission_raises_when_the_writer_is_created(local: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "makedirs", refusing)
    with pytest.raises(FileSinkError, match=r"create its base directory .*/out: Permission denied\. Make it"):
        local.writer()


def test_a_file_removed_while_it_is_written_raises_at_the_barrier(local: Output) -> None:
    writer = local.writer()
    writer.write(["a"], None)
    (local.path / local.all()[0]).unlink()
    with pytest.raises(FileSinkError, match=r"No such file or directory\. It was removed"):
        writer.prepare_commit(1)


def test_a_bucket_directory_removed_between_files_is_made_again(local: Output) -> None:
    writer = local.writer(configure=lambda b: b.with_bucket_assigner(Fixed("bucket")))
    writer.write(["a"], None)
    writer.commit(writer.prepare_commit(1))
    (local.path / local.finished()[0]).unlink()
    (local.path / "bucket").rmdir()
    writer.write(["b"], None)
    writer.commit(writer.prepare_commit(2))
    assert local.content() == [b"b\n"]


# ---- What is not there ----


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: FileSource(), "FileSource"),
        (lambda: FileSourceBuilder(), "FileSourceBuilder"),
        (lambda: StreamFormat(), "StreamFormat"),
        (lambda: BulkFormat(), "BulkFormat"),
        (lambda: FileEnumeratorProvider(), "FileEnumeratorProvider"),
        (lambda: FileSplitAssignerProvider(), "FileSplitAssignerProvider"),
    ],
)
def test_what_spark_does_itself_names_itself(call: Callable[[], object], name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^{name} is not .*env\.from_data_frame\(spark\.readStream"):
        call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: StreamingFileSink(), "StreamingFileSink"),
        (lambda: StreamingFileSink.for_row_format("p", None), "StreamingFileSink.for_row_format"),
    ],
)
def test_what_is_missing_names_itself(call: Callable[[], object], name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^{name} is not available"):
        call()


def test_a_bulk_format_is_a_factory_of_writers(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="takes a BulkWriterFactory"):
        FileSink.for_bulk_format(tmp_path, Encoder.simple_string_encoder())  # type: ignore[arg-type]


def test_the_module_exports_pyflinks_names() -> None:
    pyflink = {
        "BucketAssigner",
        "BulkFormat",
        "FileCompactStrategy",
        "FileCompactor",
        "FileEnumeratorProvider",
        "FileSink",
        "FileSource",
        "FileSourceBuilder",
        "FileSplitAssignerProvider",
        "OutputFileConfig",
        "RollingPolicy",
        "StreamFormat",
        "StreamingFileSink",
    }
    assert pyflink <= set(file_system.__all__)
    assert all(hasattr(file_system, name) for name in file_system.__all__)
