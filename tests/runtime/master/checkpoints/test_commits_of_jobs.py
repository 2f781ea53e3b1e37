"""Whole jobs in one process whose rows go to a table: a failure at every step of a commit, and every way to end."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rekindle.checkpoint.disposal import dispose
from rekindle.common import JobStatus
from rekindle.contracts.table_commit import TableCommit
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import JobCancelledError, JobExecutionError, StateRestoreError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.slot.snapshot_store import SnapshotStore, Target
from rekindle.runtime.wire import messages as m
from support.balances import environment
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.table_jobs import AppendedTable, NamedTable, Table, TransactionTable, Writing, fail, golden, placed

__all__ = ["cluster"]

COUNT = 3_000
TABLES = [AppendedTable, TransactionTable, NamedTable]
IDEMPOTENT = [TransactionTable, NamedTable]


class Jobs:
    """Jobs that write to one table, one after the other."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.directory = directory
        self.checkpoints = directory / "checkpoints"
        self.savepoints = directory / "savepoints"

    def env(
        self, savepoint: str | None = None, checkpoints: bool = True, **settings: Any
    ) -> StreamExecutionEnvironment:
        settings.setdefault("rekindle_epoch_max__records", "100")
        settings["state_savepoints_dir"] = str(self.savepoints)
        if savepoint is not None:
            settings["execution_state__recovery_path"] = savepoint
        return environment(self.cluster, str(self.checkpoints) if checkpoints else None, **settings)

    def run(self, write: Callable[..., None], parallelism: int = 2, **settings: Any) -> JobMaster:
        env = self.env(**settings)
        env.set_parallelism(parallelism)
        placed(env, COUNT).sink_to_data_frame(write).uid("table")
        return self.cluster.submit(env)

    def started(self, writing: Writing, **settings: Any) -> JobMaster:
        master = self.run(writing, **settings)
        wait_until(lambda: len(writing.commits) > 1, "rows are committed")
        return master

    def left(self) -> list[str]:
        """List the files of checkpoints, rows and markers that are left."""
        found = [os.path.join(at, name) for at, _, names in os.walk(self.checkpoints) for name in names]
        return [path for path in found if "_history" not in path]


@pytest.fixture
def jobs(cluster: Cluster, tmp_path: Path) -> Jobs:
    return Jobs(cluster, tmp_path)


# --- a failure at every step ---


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_committed_once_and_nothing_is_left(jobs: Jobs, table: type[Table]) -> None:
    writing = Writing(table())
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert len(writing.commits) > 3, "there were several commits, or the test proves little"
    assert not any(commit.repeated for commit in writing.commits)
    writing.check()
    assert jobs.left() == []


@pytest.mark.parametrize("table", TABLES)
def test_a_writer_that_fails_before_it_writes_is_called_again(jobs: Jobs, table: type[Table]) -> None:
    writing = Writing(table(), before={2: fail, 3: fail, 5: fail})
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert [commit.repeated for commit in writing.commits[:4]] == [False, False, True, True]
    assert len({commit.name for commit in writing.commits[1:4]}) == 1
    writing.check()


@pytest.mark.parametrize("table", IDEMPOTENT)
def test_a_writer_that_fails_after_it_has_written_repeats_nothing_if_it_knows_commits(
    jobs: Jobs, table: type[Table]
) -> None:
    writing = Writing(table(), after={2: fail, 4: fail, 5: fail})
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert sum(commit.repeated for commit in writing.commits) == 3
    writing.check()


def test_a_writer_that_fails_after_it_has_appended_appends_again(jobs: Jobs) -> None:
    writing = Writing(AppendedTable(), after={2: fail})
    jobs.run(writing).result.result(60)
    rows = writing.table.rows()
    assert set(rows) == set(golden(COUNT)), "at least once"
    assert len(rows) > COUNT, "and not once: a failure there is noticed"


@pytest.mark.parametrize("table", TABLES)
def test_the_death_of_a_slot_after_the_marker_repeats_nothing(jobs: Jobs, table: type[Table]) -> None:
    writing = Writing(table())
    killed: list[int] = []

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and len(writing.commits) > len(killed) and len(killed) < 3:
            killed.append(order.checkpoint_id)  # a barrier comes only after the commit before it is over
            jobs.cluster.kill_slot(slot)
            return False
        return True

    jobs.cluster.obeys = obeys  # type: ignore[method-assign]
    jobs.run(writing).result.result(60)
    assert len(killed) == 3
    assert writing.table.rows() == golden(COUNT)
    assert not any(commit.repeated for commit in writing.commits), "the marker says that it is done"
    writing.check()


@pytest.mark.parametrize("table", IDEMPOTENT)
@pytest.mark.parametrize("step", ["before", "after"])
def test_the_death_of_a_slot_during_a_commit_repeats_nothing(jobs: Jobs, table: type[Table], step: str) -> None:
    def kill() -> None:
        jobs.cluster.kill_slot(0)
        attempts = len(jobs.cluster.attempts)
        wait_until(lambda: bool(jobs.cluster.waiting) or len(jobs.cluster.attempts) > attempts, "it is noticed")

    writing = Writing(table(), **{step: {2: kill, 4: kill}})
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert len(jobs.cluster.attempts) == 3
    writing.check()


def test_a_writer_that_always_fails_fails_the_job_with_its_own_traceback(jobs: Jobs) -> None:
    def broken(frame: Any, commit: TableCommit) -> None:
        raise ValueError("no such column: plaice")

    with pytest.raises(JobExecutionError) as caught:
        jobs.run(broken, restarts=1).result.result(60)
    text = str(caught.value)
    assert "ValueError: no such column: plaice" in text
    assert "in operator 'DataFrame Sink' (uid table)" in text
    assert "in broken" in text, "the traceback is the writer's"
    assert "table_commits.py" not in text
    assert len(jobs.cluster.attempts) == 2


def test_a_writer_that_exits_does_not_end_the_program(jobs: Jobs) -> None:
    writing = Writing(AppendedTable(), before={2: sys.exit})
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert [commit.repeated for commit in writing.commits[:3]] == [False, False, True]


def test_a_record_that_does_not_fit_fails_the_job_at_once(jobs: Jobs) -> None:
    env = jobs.env()
    import pyarrow as pa

    schema = pa.schema([("number", pa.int8()), ("place", pa.int64())])
    placed(env, COUNT).sink_to_data_frame(print, schema, name="small numbers").uid("table")
    with pytest.raises(JobExecutionError) as caught:
        jobs.cluster.submit(env).result.result(60)
    assert "column 'number' (int8) cannot hold 1" in str(caught.value)
    assert "'small numbers'" in str(caught.value)
    assert len(jobs.cluster.attempts) == 1


# --- a commit takes its time ---


def test_a_slow_writer_holds_checkpoints_back_and_no_epochs(jobs: Jobs) -> None:
    def slowly() -> None:
        [master] = jobs.cluster.masters
        before = master.history.progress().epochs
        wait_until(lambda: master.history.progress().epochs > before + 3, "epochs go on")
        counts = master.checkpoint_statistics().counts
        assert counts.in_progress == 0, "no barrier is placed meanwhile"

    writing = Writing(AppendedTable(), before={2: slowly})
    jobs.run(writing).result.result(60)
    assert writing.table.rows() == golden(COUNT)


def test_a_cancelled_job_waits_for_its_writer_and_commits_nothing_more(jobs: Jobs) -> None:
    writing = Writing(AppendedTable())
    ended: list[JobStatus] = []

    def cancel() -> None:
        [master] = jobs.cluster.masters
        master.cancel()
        wait_until(lambda: not jobs.cluster.slots, "the slots have ended")
        ended.append(master.status)

    writing.before[2] = cancel
    with pytest.raises(JobCancelledError):
        jobs.run(writing).result.result(60)
    assert ended == [JobStatus.CANCELLING]
    assert len(writing.commits) == 2
    assert writing.table.rows() == golden(len(writing.table.rows()))


# --- the ways to end, and to go on ---


@pytest.mark.parametrize("drain", [False, True])
def test_a_job_that_is_stopped_has_committed_and_its_successor_repeats_nothing(jobs: Jobs, drain: bool) -> None:
    writing = Writing(AppendedTable())
    savepoint = jobs.started(writing).stop_with_savepoint(None, drain).result(60)
    stopped = writing.table.rows()
    assert stopped == golden(len(stopped)), "all rows up to the savepoint"
    assert 0 < len(stopped) < COUNT
    jobs.run(writing, parallelism=3, savepoint=savepoint).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert len({commit.app_id for commit in writing.commits}) == 2, "the commits of another job are others"
    writing.check()
    assert jobs.left() == []


def test_a_job_that_is_cancelled_with_a_savepoint_leaves_its_rows_to_the_next_which_commits_them_once(
    jobs: Jobs,
) -> None:
    writing = Writing(AppendedTable())
    savepoint = jobs.started(writing).cancel_with_savepoint(None).result(60)
    before = len(writing.table.rows())
    moved = jobs.directory / "elsewhere"
    os.rename(savepoint, moved)
    writing.after[len(writing.commits) + 2] = lambda: jobs.cluster.kill_slot(0)  # so that it is restored again
    jobs.run(writing, parallelism=1, savepoint=str(moved)).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert len(writing.table.rows()) > before
    writing.check()


def test_rows_of_a_savepoint_in_passing_are_committed_by_the_job_and_kept_in_the_savepoint(jobs: Jobs) -> None:
    writing = Writing(TransactionTable())
    master = jobs.started(writing)
    savepoint = master.trigger_savepoint(None).result(60)
    wait_until(lambda: len(writing.commits) > 4, "the job goes on")
    master.cancel()
    master.result.exception(60)
    rows = writing.table.rows()
    assert rows == golden(len(rows))
    # A job that starts from it goes back in time: rows after it come again, and those before it do not.
    other = Writing(TransactionTable(list(rows), dict(writing.table.versions)))
    jobs.run(other, savepoint=savepoint).result.result(60)
    found = other.table.rows()
    assert set(found) == set(golden(COUNT))
    again = len(found) - COUNT
    assert again == len([row for row in rows if found.count(row) == 2])
    assert other.commits[0].repeated, "the rows that waited in the savepoint"


@pytest.mark.parametrize("in_files", [True, False])
def test_a_savepoint_that_takes_longer_than_many_checkpoints_has_its_rows(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, in_files: bool
) -> None:
    writing, go_on, store = Writing(TransactionTable()), threading.Event(), SnapshotStore.store

    def slow(self: SnapshotStore, target: Target, *rest: Any, **named: Any) -> Any:
        if not target.directory:  # it is a savepoint
            go_on.wait(30)
        return store(self, target, *rest, **named)

    monkeypatch.setattr(SnapshotStore, "store", slow)
    master = jobs.started(writing, checkpoints=in_files, execution_checkpointing_interval="10ms")
    savepoint, commits = master.trigger_savepoint(None), len(writing.commits)
    wait_until(lambda: len(writing.commits) > commits + 4, "checkpoints come and go")
    go_on.set()
    assert Path(savepoint.result(30)).exists(), "all that it refers to was still there"
    master.result.result(60)
    assert writing.table.rows() == golden(COUNT)


def test_a_savepoint_with_rows_can_be_disposed_of(jobs: Jobs) -> None:
    for _ in range(20):  # whether rows wait at the stop is up to the moment
        stopped = jobs.started(Writing(AppendedTable())).stop_with_savepoint(None, False)
        savepoint = Path(stopped.result(60))
        if any(path.suffix == ".parquet" for path in savepoint.iterdir()):
            break
    else:
        pytest.fail("no savepoint had rows")
    assert [path for path in savepoint.iterdir() if path.name.startswith("committed-")], "it was committed"
    report = dispose(str(savepoint))
    assert (report.unknown, report.failed) == ((), ())
    assert not savepoint.exists()


def test_a_job_that_starts_from_a_retained_checkpoint_repeats_nothing(jobs: Jobs) -> None:
    """The job is cancelled after a commit, and its checkpoint stays with the marker beside it."""
    writing = Writing(AppendedTable())
    retained = {"execution_checkpointing_externalized__checkpoint__retention": "RETAIN_ON_CANCELLATION"}
    master = jobs.started(writing, **retained)
    master.cancel()
    master.result.exception(60)
    before = writing.table.rows()
    assert before == golden(len(before))
    [checkpoint] = (jobs.checkpoints / master.settings.job_id).glob("chk-*")
    jobs.run(writing, savepoint=str(checkpoint)).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    writing.check()
    dispose(str(checkpoint))
    assert jobs.left() == []


def test_a_program_without_the_sink_is_told_of_the_rows_that_wait(jobs: Jobs) -> None:
    savepoint = jobs.started(Writing(AppendedTable())).cancel_with_savepoint(None).result(60)
    env = jobs.env(savepoint)
    placed(env, COUNT).print()
    with pytest.raises(StateRestoreError, match=r"'DataFrame Sink' \(uid table: rows to be committed\)"):
        jobs.cluster.submit(env)


def _with_another_sink(env: StreamExecutionEnvironment, other: Writing) -> StreamExecutionEnvironment:
    stream = placed(env, COUNT)
    stream.print().uid("table")
    stream.sink_to_data_frame(other).uid("other")
    return env


def test_a_program_with_another_sink_under_the_uid_is_told_of_the_rows_that_wait(
    jobs: Jobs, caplog: pytest.LogCaptureFixture
) -> None:
    savepoint = _cancelled_with_rows(jobs, Writing(AppendedTable()))
    env = jobs.env(savepoint=savepoint)
    placed(env, COUNT).print().uid("table")
    with pytest.raises(StateRestoreError, match="uid table: rows to be committed"):
        jobs.cluster.submit(env)
    consent = {"execution_state__recovery_ignore__unclaimed__state": "true"}
    with pytest.raises(StateRestoreError, match=r"its records would be lost.*--drop-uncommitted-output"):
        jobs.cluster.submit(_with_another_sink(jobs.env(savepoint, **consent), Writing(AppendedTable())))
    consent["execution_state__recovery_ignore__uncommitted__output"] = "true"
    other = Writing(AppendedTable())
    jobs.cluster.submit(_with_another_sink(jobs.env(savepoint, **consent), other)).result.result(60)
    assert set(other.table.rows()) < set(golden(COUNT)), "what came after the savepoint, and none of its rows"
    (dropped,) = [message for message in caplog.messages if "dropped from savepoint" in message]
    assert re.search(
        r"'DataFrame Sink' \(uid table\): rows to be committed \(\d+ items, [\d,]+ bytes, output to be", dropped
    )


@pytest.mark.parametrize(
    "changed", [pa.schema([("number", pa.int64())]), pa.schema([("number", pa.int64()), ("place", pa.string())])]
)
def test_a_program_whose_table_has_lost_a_column_is_told_of_the_rows_that_wait(jobs: Jobs, changed: pa.Schema) -> None:
    writing = Writing(AppendedTable())
    env = jobs.env(savepoint=_cancelled_with_rows(jobs, writing))
    written = len(writing.table.rows())
    rows = placed(env, COUNT).map(lambda row: {"number": row.number, "place": str(row.place)})
    rows.sink_to_data_frame(writing, changed).uid("table")
    with pytest.raises(JobExecutionError, match=r"does not have as they are: place int64\. It has number int64"):
        jobs.cluster.submit(env).result.result(60)
    assert len(writing.table.rows()) == written


def test_a_column_that_a_program_adds_is_null_in_the_rows_that_wait(jobs: Jobs) -> None:
    writing, seen = Writing(AppendedTable()), []
    env = jobs.env(savepoint=_cancelled_with_rows(jobs, writing))
    columns = pa.schema([("number", pa.int64()), ("place", pa.int64()), ("more", pa.int64())])
    rows = placed(env, COUNT).map(lambda row: {"number": row.number, "place": row.place, "more": 1})
    rows.sink_to_data_frame(lambda frame: seen.append(frame), columns).uid("table")
    jobs.cluster.submit(env).result.result(60)
    assert set(seen[0]["more"].to_pylist()) == {None}
    found = [(row["number"], row["place"]) for frame in seen for row in frame.to_pylist()]
    assert sorted(found + writing.table.rows()) == golden(COUNT)


def _cancelled_with_rows(jobs: Jobs, writing: Writing) -> str:
    """Cancel a job with a savepoint in which rows wait."""
    while True:
        master = jobs.started(writing)
        location = master.cancel_with_savepoint(None).result(60)
        with pytest.raises(JobCancelledError):
            master.result.result(60)
        if list(Path(location).glob("rows-*")):
            return location
        writing.commits.clear()


def test_checkpoints_in_memory_commit_as_well(jobs: Jobs) -> None:
    writing = Writing(NamedTable(), after={2: fail}, before={4: fail})
    env = jobs.env(checkpoints=False)
    env.enable_checkpointing(10)
    placed(env, COUNT).sink_to_data_frame(writing)
    jobs.cluster.submit(env).result.result(60)
    assert writing.table.rows() == golden(COUNT)
    writing.check()


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_job_without_checkpoints_commits_at_its_end(jobs: Jobs, mode: str) -> None:
    writing = Writing(NamedTable(), before={1: fail}, after={2: fail})
    master = jobs.run(writing, checkpoints=False, execution_runtime__mode=mode)
    master.result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert {commit.version for commit in writing.commits} == {1}
    writing.check()


def test_a_job_without_checkpoints_commits_all_at_once_though_a_savepoint_was_taken(jobs: Jobs) -> None:
    writing = Writing(NamedTable(), before={2: fail})
    master = jobs.run(writing, checkpoints=False)
    wait_until(lambda: master.history.progress().epochs > 2, "there are rows")
    master.trigger_savepoint(None).result(60)
    master.result.result(60)
    assert writing.table.rows() == golden(COUNT)
    assert len(writing.commits) == 1, "if one of several failed, the job would prepare the others' rows again"


def test_two_tables_are_each_committed_once(jobs: Jobs) -> None:
    first, second = Writing(AppendedTable()), Writing(AppendedTable(), before={2: fail, 3: fail})
    env = jobs.env()
    stream = placed(env, COUNT)
    stream.sink_to_data_frame(first).uid("first")
    stream.sink_to_data_frame(second).uid("second")
    jobs.cluster.submit(env).result.result(60)
    assert first.table.rows() == second.table.rows() == golden(COUNT)
    assert not any(commit.repeated and commit.version == second.commits[1].version for commit in first.commits)


@pytest.mark.parametrize("concurrent", ["1", "3"])
def test_checkpoints_that_overlap_or_fail_lose_no_rows(jobs: Jobs, concurrent: str) -> None:
    lost: list[int] = []

    def hears(slot: int, message: m.ToMaster) -> bool:
        if isinstance(message, m.SnapshotDone) and slot == 0 and message.checkpoint_id % 3 == 0:
            lost.append(message.checkpoint_id)  # it is never complete, and the next one subsumes it or it expires
            return False
        return True

    jobs.cluster.hears = hears  # type: ignore[method-assign]
    writing = Writing(AppendedTable())
    jobs.run(
        writing,
        execution_checkpointing_max__concurrent__checkpoints=concurrent,
        execution_checkpointing_timeout="200 ms",
        execution_checkpointing_tolerable__failed__checkpoints="1000",
    ).result.result(120)
    assert lost
    assert writing.table.rows() == golden(COUNT)
    versions = {commit.version for commit in writing.commits}
    assert versions & set(lost), "what was prepared for them has kept their version"
    writing.check()
