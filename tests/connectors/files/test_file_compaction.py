"""Small files are merged before they become visible: never twice, never lost, whenever the job is killed."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc, parquet

from rekindle.base.clock import SystemClock
from rekindle.connectors.files.file_committables import FileCommittable, HeldFile, MergedFile, decoded
from rekindle.connectors.files.file_compaction import due_groups
from rekindle.connectors.files.file_sink_writer import FileSinkSettings, FileSinkWriter
from rekindle.connectors.files.local_sink_files import LocalSinkFiles
from rekindle.connectors.files.remote_sink_files import RemoteSinkFiles
from rekindle.connectors.files.sink_files import FileSinkError, SinkFiles
from rekindle.contracts.connectors import SinkWriterContext
from rekindle.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from rekindle.datastream.formats.avro import avro_writer
from rekindle.datastream.formats.csv import csv_writer
from rekindle.datastream.formats.orc import orc_writer
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.exceptions import ConfigurationError
from rekindle.formats.avro_files import read_avro
from support.broken_sink_files import AtOnce, SinkJob, kill_everywhere
from support.disk_storage import DiskFiles, DiskObjects

EVERY_TWO = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
CONCAT = FileCompactor.concat_file_compactor()
RECORD_WISE = FileCompactor.record_wise_file_compactor()


class ByParity(BucketAssigner):
    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return f"odd={(int(value) if isinstance(value, str) else value[0]) % 2}"


class Out:
    """Write below one directory, and look at what is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writers: list[FileSinkWriter] = []

    def settings(self, strategy: FileCompactStrategy | None = EVERY_TWO, compactor: FileCompactor = CONCAT) -> Any:
        builder = FileSink.for_row_format(self.path)
        if strategy is not None:
            builder.enable_compact(strategy, compactor)
        return builder.build()._settings

    def writer(
        self,
        settings: FileSinkSettings | None = None,
        restored: list[bytes] | None = None,
        subtask: int = 0,
        parallelism: int = 1,
        merging: Executor | None = None,
    ) -> FileSinkWriter:
        files = LocalSinkFiles(str(self.path))
        files.create_base()
        context = SinkWriterContext(subtask, parallelism, 0, "job-sink", SystemClock())
        writer = FileSinkWriter(settings or self.settings(), files, context, merging or AtOnce())
        if restored:
            writer.commit(restored)
        writer.abort_leftovers()
        self.writers.append(writer)
        return writer

    def visible(self) -> dict[str, str]:
        return {name: (self.path / name).read_text() for name in self.names() if not name.startswith(".")}

    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.rglob("*") if path.is_file())

    def hidden(self) -> list[str]:
        return [name for name in self.names() if name.startswith(".")]


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Out]:
    found = Out(tmp_path / "out")
    yield found
    for writer in found.writers:
        writer.close()


def checkpoint(writer: FileSinkWriter, number: int, *values: str, complete: bool = True) -> list[bytes]:
    if values:
        writer.write(list(values), None)
    committables = writer.prepare_commit(number)
    if complete:
        writer.commit(committables)
    return committables


def kinds(committables: list[bytes]) -> list[str]:
    return [type(decoded(each)).__name__ for each in committables]


# --- when files are merged


def held(*sizes: int, checkpoints: int = 0) -> list[HeldFile]:
    return [HeldFile(f".p{place}", f"p{place}", size, "", checkpoints) for place, size in enumerate(sizes)]


def sizes(groups: list[list[HeldFile]]) -> list[list[int]]:
    return [[file.size for file in group] for group in groups]


def test_files_are_due_by_size_and_by_the_number_of_checkpoints() -> None:
    by_size = FileCompactStrategy(None, 10)
    assert sizes(due_groups(held(4, 4, 4, 20, 3), by_size, last=False)) == [[4, 4, 4], [20]]
    assert sizes(due_groups(held(4, 4, 4, 20, 3), by_size, last=True)) == [[4, 4, 4], [20], [3]]
    by_checkpoints = FileCompactStrategy(3, None)
    assert due_groups(held(1, 1, checkpoints=1), by_checkpoints, last=False) == []
    assert sizes(due_groups(held(1, 1, checkpoints=2), by_checkpoints, last=False)) == [[1, 1]]
    both = FileCompactStrategy(3, 10)
    assert sizes(due_groups(held(9, 1, 5, checkpoints=2), both, last=False)) == [[9, 1], [5]]
    assert due_groups([], both, last=True) == []


def test_a_strategy_needs_a_condition_and_positive_numbers() -> None:
    builder = FileCompactStrategy.builder()
    with pytest.raises(ConfigurationError, match="needs a condition"):
        builder.set_num_compact_threads(2).build()
    for method in (
        builder.enable_compaction_on_checkpoint,
        builder.set_size_threshold,
        builder.set_num_compact_threads,
    ):
        for wrong in (0, -1, True, 1.5):
            with pytest.raises(ConfigurationError, match="must be greater than zero"):
                method(wrong)  # type: ignore[arg-type]
    built = builder.enable_compaction_on_checkpoint(4).set_size_threshold(9).build()
    assert built == FileCompactStrategy(4, 9, 2)


# --- what becomes visible, and when


def test_files_wait_and_appear_merged_in_their_order(out: Out) -> None:
    writer = out.writer()
    assert kinds(checkpoint(writer, 1, "a")) == ["HeldFile"]
    assert kinds(checkpoint(writer, 2, "b", "c")) == ["HeldFile", "HeldFile"]
    assert out.visible() == {}
    assert kinds(checkpoint(writer, 3, "d", complete=False)) == ["MergedFile", "HeldFile"]
    assert out.visible() == {}
    alone = decoded(checkpoint(writer, 4)[0])
    assert out.visible() == {alone.finished: "d\n"}  # the one before was not complete, so nobody committed it


def test_a_merged_file_takes_the_place_of_what_it_has(out: Out) -> None:
    writer = out.writer()
    for number, text in enumerate("abc", 1):
        last = checkpoint(writer, number, text)
    (merged, waiting) = map(decoded, last)
    assert isinstance(merged, MergedFile)
    assert out.visible() == {merged.finished: "a\nb\n"}
    assert merged.finished.startswith("compacted-part-0-")
    assert out.hidden() == [waiting.pending]
    writer.commit(last)  # perhaps not for the first time
    assert out.visible() == {merged.finished: "a\nb\n"}


def test_at_the_end_of_input_nothing_waits(out: Out) -> None:
    writer = out.writer()
    checkpoint(writer, 1, "a")
    writer.end_input()
    assert kinds(checkpoint(writer, 2, "b")) == ["MergedFile"]
    assert list(out.visible().values()) == ["a\nb\n"]
    assert out.hidden() == []


def test_one_file_alone_is_finished_as_it_is(out: Out) -> None:
    writer = out.writer()
    checkpoint(writer, 1, "a")
    assert kinds(checkpoint(writer, 2)) == ["FileCommittable"]
    assert list(out.visible().values()) == ["a\n"]
    assert next(iter(out.visible())).startswith("part-0-")


def test_files_of_different_buckets_are_not_merged(out: Out) -> None:
    settings = replace(out.settings(), bucket_assigner=ByParity())
    writer = out.writer(settings)
    for number in range(1, 4):
        checkpoint(writer, number, str(number), str(number + 1))
    texts = {path.parent.name: path.read_text() for path in out.path.rglob("compacted-*")}
    assert texts == {"odd=1": "1\n3\n", "odd=0": "2\n2\n"}


def test_a_delimiter_is_put_between_files(out: Out) -> None:
    writer = out.writer(out.settings(compactor=FileCompactor.concat_file_compactor(b"--\n")))
    checkpoint(writer, 1, "a")
    writer.end_input()
    checkpoint(writer, 2, "b")
    assert list(out.visible().values()) == ["a\n--\nb\n"]


def test_the_identical_compactor_merges_nothing(out: Out) -> None:
    writer = out.writer(out.settings(compactor=FileCompactor.identical_file_compactor()))
    checkpoint(writer, 1, "a")
    assert kinds(checkpoint(writer, 2, "b")) == ["FileCommittable", "FileCommittable"]
    assert sorted(out.visible().values()) == ["a\n", "b\n"]


def test_merges_run_in_threads_of_their_own_and_their_results_come_when_they_are_there(out: Out) -> None:
    from concurrent.futures import ThreadPoolExecutor

    writer = out.writer(merging=ThreadPoolExecutor(2))
    for number in range(1, 50):
        checkpoint(writer, number, str(number))
    writer.end_input()
    checkpoint(writer, 50, "50")
    lines = [line for text in out.visible().values() for line in text.split()]
    assert sorted(lines, key=int) == [str(number) for number in range(1, 51)]
    assert out.hidden() == []
    assert len(out.visible()) < 40


# --- restores


def test_a_restored_writer_goes_on_with_what_waits(out: Out) -> None:
    first = checkpoint(out.writer(), 1, "a")
    writer = out.writer(restored=first)
    checkpoint(writer, 2, "b")
    checkpoint(writer, 3)
    checkpoint(writer, 4)
    assert sorted(out.visible().values()) == ["a\n", "b\n"]  # of two writers: each file is found by its own name


def test_without_compaction_what_waits_is_finished_as_it_is(out: Out) -> None:
    last = checkpoint(out.writer(), 1, "a")
    out.writer(out.settings(strategy=None), restored=last)
    assert list(out.visible().values()) == ["a\n"]
    out.writer(out.settings(strategy=None), restored=last)
    assert list(out.visible().values()) == ["a\n"]


@pytest.mark.parametrize("make", [csv_writer, parquet_writer, orc_writer])
def test_files_of_an_earlier_schema_or_format_are_finished_as_they_are(out: Out, make: Callable[[Any], Any]) -> None:
    def settings(written_by: Any) -> Any:
        return FileSink.for_bulk_format(out.path, written_by).enable_compact(EVERY_TWO, RECORD_WISE).build()._settings

    first = out.writer(settings(make("name string, n long")))
    first.write([("ann", 1)], None)
    waiting = first.prepare_commit(1)
    second = out.writer(settings(make("name string, n long, comment string")), waiting)
    [finished] = out.names()
    assert finished.startswith("part-")
    second.write([("bob", 2, "x")], None)
    waiting = second.prepare_commit(2)
    out.writer(settings(avro_writer({"type": "record", "name": "r", "fields": []})), waiting)
    assert len([name for name in out.names() if name.startswith("part-")]) == 2
    assert out.hidden() == []


def test_formats_whose_files_cannot_be_concatenated_are_refused(out: Out) -> None:
    for written_by in (parquet_writer("n long"), orc_writer("n long"), csv_writer("n long")):
        with pytest.raises(ConfigurationError, match="record_wise_file_compactor"):
            FileSink.for_bulk_format(out.path, written_by).enable_compact(EVERY_TWO, CONCAT).build()


def test_disable_compact_takes_enable_compact_back(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(tmp_path).enable_compact(EVERY_TWO, CONCAT)
    assert builder.build()._settings.compaction is not None
    assert builder.disable_compact().build()._settings.compaction is None
    with pytest.raises(TypeError, match="enable_compact takes a FileCompactStrategy"):
        builder.enable_compact(CONCAT, EVERY_TWO)  # type: ignore[arg-type]


def test_an_earlier_checkpoint_finds_its_files_in_the_merged_one(out: Out) -> None:
    writer = out.writer()
    first = checkpoint(writer, 1, "a")
    second = checkpoint(writer, 2, "b")
    checkpoint(writer, 3)
    visible = out.visible()
    assert list(visible.values()) == ["a\nb\n"]
    for earlier in (first, second):
        out.writer(restored=earlier)
        assert out.visible() == visible


def test_a_file_that_was_removed_while_it_waited_is_an_error(out: Out) -> None:
    last = checkpoint(out.writer(), 1, "a")
    for path in out.path.iterdir():
        path.unlink()
    with pytest.raises(FileSinkError, match="neither it nor the pending"):
        out.writer(restored=last)


def test_after_a_change_of_parallelism_files_of_other_subtasks_are_finished(out: Out) -> None:
    last = [checkpoint(out.writer(subtask=place, parallelism=4), 1, str(place))[0] for place in range(4)]
    for place in range(2):
        own = [each for number, each in enumerate(last) if number % 2 == place]
        out.writer(restored=own, subtask=place, parallelism=2)
    assert sorted(out.visible().values()) == ["2\n", "3\n"]
    assert len(out.hidden()) == 2  # those of 0 and 1 wait


def test_of_several_checkpoints_the_latest_says_what_waits(out: Out) -> None:
    writer = out.writer()
    checkpoint(writer, 1, "a")
    both = checkpoint(writer, 2, "b", complete=False) + checkpoint(writer, 3, complete=False)
    assert kinds(both) == ["HeldFile", "HeldFile", "MergedFile"]
    again = out.writer(restored=both)
    assert list(out.visible().values()) == ["a\nb\n"]
    assert out.hidden() == []
    assert checkpoint(again, 4) == []


def test_what_a_savepoint_refers_to_outlives_a_failure_and_is_merged_all_the_same(out: Out) -> None:
    writer = out.writer()
    checkpoint(writer, 1, "a")
    savepoint = checkpoint(writer, 2, "b", complete=False)
    writer.keep(savepoint)
    assert sorted(name.rsplit(".")[-1] for name in out.hidden()) == ["kept", "kept", "pending"]
    checkpoint(writer, 3)
    assert list(out.visible().values()) == ["a\nb\n"]
    assert out.hidden() == []
    out.writer(restored=savepoint)
    assert list(out.visible().values()) == ["a\nb\n"]


def test_a_job_that_starts_from_a_savepoint_has_its_files_though_the_old_one_went_back(out: Out) -> None:
    writer = out.writer()
    savepoint = checkpoint(writer, 1, "a", complete=False)
    writer.keep(savepoint)
    out.writer(restored=[])  # went back to before it, and tidied up
    assert [decoded(each).size for each in savepoint] == [2]
    writer = out.writer(restored=savepoint)
    writer.end_input()
    checkpoint(writer, 2)
    assert list(out.visible().values()) == ["a\n"]


# --- failures


def test_a_merge_that_fails_fails_the_checkpoint_and_is_done_again(out: Out) -> None:
    class Failing(FileCompactor):
        failures = count()

        def merged(self, files: Any, written_by: Any) -> Iterator[bytes]:
            yield b"half"
            if next(self.failures) < 1:
                raise FileSinkError("no room")
            yield from ()

    writer = out.writer(out.settings(compactor=Failing()))
    checkpoint(writer, 1, "a")
    checkpoint(writer, 2, "b")
    with pytest.raises(FileSinkError, match="no room"):
        writer.prepare_commit(3)
    checkpoint(writer, 4)
    assert kinds(checkpoint(writer, 5)) == ["MergedFile"]
    assert list(out.visible().values()) == ["half"]
    assert out.hidden() == []


def test_close_leaves_only_what_checkpoints_refer_to(out: Out) -> None:
    writer = out.writer()
    checkpoint(writer, 1, "a")
    last = checkpoint(writer, 2, "b")  # a merge was begun, and is in no checkpoint
    assert len(out.hidden()) == 3
    writer.close()
    assert out.hidden() == sorted(decoded(each).pending for each in last)


def stored(kind: str, path: Path) -> Callable[[], SinkFiles]:
    def files() -> SinkFiles:
        if kind == "local":
            return LocalSinkFiles(str(path))
        return RemoteSinkFiles(DiskObjects(path) if kind == "store" else DiskFiles(path))

    return files


CHUNKS = [[str(10 * number + place) for place in range(3)] for number in range(1, 7)]
FORMATS: dict[str, tuple[Any, Callable[[Path], list[Any]]]] = {
    "parquet": (parquet_writer("n string"), lambda path: parquet.read_table(path)["n"].to_pylist()),
    "orc": (orc_writer("n string"), lambda path: orc.read_table(path)["n"].to_pylist()),
    "csv": (csv_writer("n string"), lambda path: path.read_text().split()[1:]),
    "avro": (
        avro_writer({"type": "record", "name": "r", "fields": [{"name": "n", "type": "string"}]}),
        lambda path: [record["n"] for records in read_avro(io.BytesIO(path.read_bytes())) for record in records],
    ),
}


@pytest.mark.parametrize("kind", ["local", "store"])
@pytest.mark.parametrize("compacting", [False, True])
def test_each_record_is_there_once_wherever_the_job_is_killed(tmp_path: Path, kind: str, compacting: bool) -> None:
    numbers = count()

    def job() -> SinkJob:
        path = tmp_path / str(next(numbers))
        builder = FileSink.for_row_format(path).with_bucket_assigner(ByParity())
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=4))
        if compacting:
            strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).set_size_threshold(40)
            builder.enable_compact(strategy.build(), CONCAT)
        return SinkJob(builder.build()._settings, stored(kind, path), CHUNKS)

    def check(job: SinkJob) -> None:
        base = Path(job.settings.base_path)
        found = [line for path in base.rglob("*part-*") for line in path.read_text().split()]
        assert sorted(found) == [line for chunk in CHUNKS for line in chunk]
        left = [path for path in base.rglob("*") if path.is_file() and path.name.startswith(".")]
        assert left == [] or job.attempts > 1, left
        assert len([path for path in left if path.suffix == ".pending"]) == 0, left

    assert kill_everywhere(job, check) > (250 if compacting else 150)


@pytest.mark.parametrize("name", FORMATS)
def test_each_record_of_a_bulk_format_is_there_once_wherever_the_job_is_killed(tmp_path: Path, name: str) -> None:
    numbers = count()
    written_by, read = FORMATS[name]

    def job() -> SinkJob:
        path = tmp_path / str(next(numbers))
        builder = FileSink.for_bulk_format(path, written_by).enable_compact(EVERY_TWO, RECORD_WISE)
        suffix = OutputFileConfig.builder().with_part_suffix(f".{name}").build()
        chunks = [[(text,) for text in chunk] for chunk in CHUNKS[:5]]
        return SinkJob(builder.with_output_file_config(suffix).build()._settings, stored("local", path), chunks)

    def check(job: SinkJob) -> None:
        parts = sorted(Path(job.settings.base_path).glob("*part-*"))
        assert all(part.suffix == f".{name}" for part in parts)
        assert sorted(n for part in parts for n in read(part)) == [n for chunk in CHUNKS[:5] for n in chunk]
        assert len(parts) < 5

    assert kill_everywhere(job, check) > 100


def test_a_job_that_is_killed_again_and_again_has_each_record_once(tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", "20261117"))
    print("seed", seed)
    chance = random.Random(seed)
    for number in range(40):
        path = tmp_path / str(number)
        strategy = FileCompactStrategy(chance.choice([None, 1, 2, 3]), chance.choice([20, 60]))
        settings = FileSink.for_row_format(path).enable_compact(strategy, CONCAT).build()._settings
        job = SinkJob(settings, stored(chance.choice(["local", "store"]), path), CHUNKS)
        while not job.run(chance.randrange(5, 80) if job.attempts < 12 else float("inf"), chance.random() < 0.5):
            if chance.random() < 0.3:  # compaction is switched off, and on again
                job.settings = replace(settings, compaction=None if job.settings.compaction else settings.compaction)
        found = [line for part in path.glob("*part-*") for line in part.read_text().split()]
        assert sorted(found) == [line for chunk in CHUNKS for line in chunk], f"run {number}"


def test_committables_of_older_versions_are_still_committed(out: Out) -> None:
    (committable,) = checkpoint(out.writer(out.settings(strategy=None)), 1, "a", complete=False)
    assert isinstance(decoded(committable), FileCommittable)
    assert b"rekindle-file-1" in committable
    out.writer(restored=[committable])
    assert list(out.visible().values()) == ["a\n"]
