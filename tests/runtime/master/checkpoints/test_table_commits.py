"""Commits of rows on the driver: what is handed over, in which order, and what the markers keep from being repeated."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rekindle.base.clock import SystemClock
from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, StagedRows
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.checkpoint.storage import CheckpointFiles, LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Types
from rekindle.contracts.table_commit import TableCommit
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import CheckpointStorageError, JobFencedError, UserCodeError
from rekindle.graph.job_graph import JobGraph
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.checkpoints.table_commits import StagedOutput, TableCommits
from rekindle.testing import InProcessCluster, local_environment


def parquet_file(values: list[int], schema: pa.Schema) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(values)], schema=schema), file)
    return file.getvalue()


JOB, OTHER = "a" * 32, "b" * 32
ROWS = parquet_file([1, 2], pa.schema([("value", pa.int64())]))


class FakeCluster(InProcessCluster):
    """Hands over the names of files in the place of a DataFrame."""

    def rows(self, files: Sequence[str], schema: pa.Schema) -> Any:
        for file in files:
            assert Path(file).exists(), "rows are there until they are committed"
        return sorted(Path(file).name for file in files)


class Tables:
    """A job with two sinks, and what their writers were called with."""

    def __init__(self, directory: Path) -> None:
        self.calls: list[tuple[str, list[str], TableCommit]] = []
        self.failing: str | None = None
        self.directory = directory
        env = local_environment()
        stream = env.from_collection([1], Types.LONG())
        for name in ("first", "second"):
            stream.sink_to_data_frame(self._writer(name), name=name).uid(name)
        self.graph: JobGraph = StreamExecutionEnvironment._compile(env)
        self.ownership = JobOwnership(SystemClock())

    def _writer(self, name: str) -> Any:
        def write(frame: Any, commit: TableCommit) -> None:
            self.calls.append((name, frame, commit))
            if self.failing == name:
                raise KeyError(name)

        return write

    def staging(self, job: str = JOB, files: CheckpointFiles | None = None, kept: bool = True) -> RowStaging:
        return RowStaging(files or LocalCheckpointFiles(str(self.directory)), job, kept)

    def commits(self, staging: RowStaging) -> TableCommits:
        return TableCommits(FakeCluster(), staging, self.ownership)

    def checkpoint(
        self, staging: RowStaging, number: int, staged: dict[str, list[tuple[int, str]]], in_memory: bool = False
    ) -> StoredCheckpoint:
        operators = []
        for uid, rows in staged.items():
            files = []
            for version, name in rows:
                if not (Path(staging.files.root) / staging.path(name)).exists():
                    staging.store(name, io.BytesIO(ROWS), len(ROWS))
                files.append(StagedRows(version, 1, staging_file(name)))
            operators.append(OperatorMetadata(uid, uid, 1, 128, [], {}, files))
        metadata = CheckpointMetadata(number, staging.job_id, "job", 0, 0, operators, [], [])
        directory = paths.checkpoint_directory(staging.job_id, number)
        return StoredCheckpoint(metadata, None if in_memory else staging.files, directory)

    def names(self) -> list[tuple[str, list[str], int]]:
        return [(name, files, commit.version) for name, files, commit in self.calls]


def staging_file(name: str) -> Any:
    from rekindle.checkpoint.metadata import StoredFile

    return StoredFile(4, 0, paths.from_checkpoint(name), shared=True)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def test_the_rows_of_each_barrier_are_one_commit_in_order(tables: Tables) -> None:
    staging = tables.staging()
    staged = {"first": [(4, "rows-b"), (3, "rows-a"), (4, "rows-c")], "second": [(4, "rows-d")]}
    tables.commits(staging).commit(tables.graph, StagedOutput.of(tables.checkpoint(staging, 4, staged), staging))
    assert tables.names() == [
        ("first", ["rows-a"], 3),
        ("first", ["rows-b", "rows-c"], 4),
        ("second", ["rows-d"], 4),
    ]
    assert tables.calls[0][2] == TableCommit(f"{JOB}-first", 3)
    assert tables.calls[0][2].name == f"{JOB}-first-3"


def test_what_is_marked_is_not_handed_over_again_by_any_driver(tables: Tables) -> None:
    staging = tables.staging()
    output = StagedOutput.of(tables.checkpoint(staging, 3, {"first": [(3, "rows-a")]}), staging)
    commits = tables.commits(staging)
    commits.commit(tables.graph, output)
    commits.commit(tables.graph, output, repeated=True)
    tables.commits(staging).commit(tables.graph, output, repeated=True)
    assert len(tables.calls) == 1
    later = tables.checkpoint(staging, 5, {"first": [(3, "rows-a"), (5, "rows-b")]})
    tables.commits(staging).commit(tables.graph, StagedOutput.of(later, staging), repeated=True)
    assert tables.names() == [("first", ["rows-a"], 3), ("first", ["rows-b"], 5)]


def test_a_writer_that_fails_is_called_again_and_those_before_it_are_not(tables: Tables) -> None:
    staging = tables.staging()
    output = StagedOutput.of(
        tables.checkpoint(staging, 1, {uid: [(1, "rows-a")] for uid in ("first", "second")}), staging
    )
    tables.failing = "second"
    with pytest.raises(UserCodeError, match=r"KeyError: 'second'\n  in operator 'second' \(uid second\)") as caught:
        tables.commits(staging).commit(tables.graph, output)
    assert "in write" in caught.value.user_traceback
    assert caught.value.curable
    tables.failing = None
    tables.commits(staging).commit(tables.graph, output, repeated=True)
    assert [(name, commit.repeated) for name, _, commit in tables.calls] == [
        ("first", False),
        ("second", False),
        ("second", True),
    ]


def test_one_marker_is_kept_for_each_sink(tables: Tables) -> None:
    staging = tables.staging()
    commits = tables.commits(staging)
    for number in (1, 2, 3):
        staged = {uid: [(number, f"rows-{number}")] for uid in ("first", "second")}
        commits.commit(tables.graph, StagedOutput.of(tables.checkpoint(staging, number, staged), staging))
    assert len(staging.files.list(staging.markers)) == 2


def test_a_marker_that_cannot_be_created_fails_the_commit(tables: Tables) -> None:
    class FullFiles(LocalCheckpointFiles):
        def create(self, path: str, data: bytes) -> None:
            raise CheckpointStorageError("no space left")

    staging = tables.staging(files=FullFiles(str(tables.directory)))
    output = StagedOutput.of(tables.checkpoint(staging, 1, {"first": [(1, "rows-a")]}), staging)
    with pytest.raises(CheckpointStorageError):
        tables.commits(staging).commit(tables.graph, output)
    tables.commits(tables.staging()).commit(tables.graph, output, repeated=True)
    assert [commit.repeated for _, _, commit in tables.calls] == [False, True], "this is where a writer is called twice"


def test_a_job_that_starts_from_the_savepoint_of_another_marks_it_for_the_next(tables: Tables) -> None:
    files = LocalCheckpointFiles(str(tables.directory / "savepoint"))
    files.write("rows-a", io.BytesIO(ROWS))
    from rekindle.checkpoint.metadata import StoredFile

    rows = StagedRows(7, 1, StoredFile(4, 0, "rows-a"))
    sink = OperatorMetadata("first", "first", 1, 128, [], {}, [rows])
    savepoint = StoredCheckpoint(CheckpointMetadata(7, JOB, "job", 0, 0, [sink], [], [], savepoint=True), files, "")
    for job in (OTHER, OTHER, "c" * 32):  # two attempts of one job, and a third job
        staging = tables.staging(job)
        tables.commits(staging).commit(tables.graph, StagedOutput.of(savepoint, staging), repeated=True)
    assert [commit for _, _, commit in tables.calls] == [TableCommit(f"{JOB}-first", 7, repeated=True)]


def test_a_savepoint_whose_rows_a_checkpoint_under_way_has_committed_is_marked(tables: Tables) -> None:
    staging = tables.staging()
    commits = tables.commits(staging)
    commits.commit(tables.graph, StagedOutput.of(tables.checkpoint(staging, 7, {"first": [(7, "rows-a")]}), staging))
    files = LocalCheckpointFiles(str(tables.directory / "savepoint"))
    files.write("rows-a", io.BytesIO(ROWS))
    from rekindle.checkpoint.metadata import StoredFile

    sink = OperatorMetadata("first", "first", 1, 128, [], {}, [StagedRows(7, 1, StoredFile(4, 0, "rows-a"))])
    savepoint = StoredCheckpoint(CheckpointMetadata(8, JOB, "job", 0, 0, [sink], [], [], savepoint=True), files, "")
    commits.commit(tables.graph, StagedOutput.of(savepoint, staging))
    other = tables.staging(OTHER)  # a job that starts from it
    tables.commits(other).commit(tables.graph, StagedOutput.of(savepoint, other), repeated=True)
    assert tables.names() == [("first", ["rows-a"], 7)]


def test_a_savepoint_that_cannot_be_marked_is_no_reason_to_fail(
    tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    class ReadOnly(LocalCheckpointFiles):
        def create(self, path: str, data: bytes) -> None:
            raise CheckpointStorageError("read-only")

    files = ReadOnly(str(tables.directory / "savepoint"))
    files.write("rows-a", io.BytesIO(ROWS))
    from rekindle.checkpoint.metadata import StoredFile

    sink = OperatorMetadata("first", "first", 1, 128, [], {}, [StagedRows(7, 1, StoredFile(4, 0, "rows-a"))])
    savepoint = StoredCheckpoint(CheckpointMetadata(7, JOB, "job", 0, 0, [sink], [], [], savepoint=True), files, "")
    staging = tables.staging(OTHER)
    for _ in range(2):
        tables.commits(staging).commit(tables.graph, StagedOutput.of(savepoint, staging), repeated=True)
    assert len(tables.calls) == 1, "this job knows"
    assert "Another job that starts from there writes these rows again" in caplog.text


def test_a_driver_that_was_replaced_hands_nothing_over(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    staging = tables.staging()
    output = StagedOutput.of(tables.checkpoint(staging, 1, {"first": [(1, "rows-a")]}), staging)

    def check() -> None:
        raise JobFencedError("another driver has taken over")

    monkeypatch.setattr(tables.ownership, "check", check)
    with pytest.raises(JobFencedError):
        tables.commits(staging).commit(tables.graph, output)
    assert tables.calls == []


def test_leftovers_are_files_of_rows_that_no_checkpoint_refers_to(tables: Tables) -> None:
    staging = tables.staging()
    kept = tables.checkpoint(staging, 1, {"first": [(1, "rows-a")]})
    tables.checkpoint(staging, 2, {"first": [(2, "rows-b")]})
    staging.store("3-0-0-state", io.BytesIO(b"state"), 5)
    tables.commits(staging).remove_leftovers([kept])
    assert staging.files.list(f"{JOB}/shared") == ["3-0-0-state", "rows-a"]


def test_a_driver_that_was_replaced_deletes_no_rows_of_its_successor(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = tables.staging()
    commits = tables.commits(staging)
    tables.checkpoint(staging, 2, {"first": [(2, "rows-of-the-successor")]})

    def check() -> None:
        raise JobFencedError("another driver has taken over, and this one has not looked since")

    monkeypatch.setattr(tables.ownership, "check", check)
    with pytest.raises(JobFencedError):
        commits.remove_leftovers([])
    assert staging.files.list(f"{JOB}/shared") == ["rows-of-the-successor"]


def test_rows_of_checkpoints_in_memory_go_with_the_checkpoint_once_they_are_committed(tables: Tables) -> None:
    staging = tables.staging(kept=False)
    first = tables.checkpoint(staging, 2, {"first": [(1, "rows-a"), (2, "rows-b")]}, in_memory=True)
    second = tables.checkpoint(staging, 3, {"first": [(2, "rows-b"), (3, "rows-c")]}, in_memory=True)
    commits = tables.commits(staging)
    commits.commit(tables.graph, StagedOutput.of(first, staging))
    assert staging.files.list(f"{JOB}/shared") == ["rows-a", "rows-b", "rows-c"], "a savepoint may want copies"
    commits.drop(second)
    assert staging.files.list(f"{JOB}/shared") == ["rows-a", "rows-c"], "what is not committed stays"
    commits.drop(first)
    assert staging.files.list(f"{JOB}/shared") == ["rows-c"]
