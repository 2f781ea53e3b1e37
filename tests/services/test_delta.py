"""A Delta table as the end of a stream: a crash at each step of a commit leaves each row in it once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.datastream.connectors.tables import TableCommit, delta_writer
from support.balances import environment
from support.driver import driver
from support.processes import wait_until
from support.services import delta as delta_service
from support.table_jobs import fail, golden, placed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_slots_left")]

COUNT = 20_000


@pytest.fixture(scope="module")
def delta() -> Iterator[Any]:
    """Start Spark with Delta."""
    missing = delta_service.missing()
    if missing is not None:
        pytest.skip(missing)
    with delta_service.delta_session() as session:
        yield session


def rows_of(session: Any, path: Path) -> list[tuple[int, int]]:
    return sorted((row.number, row.place) for row in session.read.format("delta").load(str(path)).collect())


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_writer_that_fails_leaves_each_row_once(delta: Any, tmp_path: Path, step: str) -> None:
    env = environment(delta, str(tmp_path / "checkpoints"), restarts=3)
    write, append = delta_writer(str(tmp_path / "table")), _append(tmp_path / "appended")
    commits: list[TableCommit] = []

    def writing(frame: Any, commit: TableCommit) -> None:
        commits.append(commit)
        if step == "before" and len(commits) == 2:
            fail()
        write(frame, commit)
        append(frame)
        if step == "after" and len(commits) == 2:
            fail()

    placed(env, COUNT).sink_to_data_frame(writing).uid("table")
    env.execute()
    assert rows_of(delta, tmp_path / "table") == golden(COUNT)
    assert [commit.repeated for commit in commits[1:3]] == [False, True]
    appended = rows_of(delta, tmp_path / "appended")
    assert set(appended) == set(golden(COUNT))
    assert (len(appended) > COUNT) == (step == "after"), "without the transaction's id rows are repeated"
    history = delta.sql(f"DESCRIBE HISTORY delta.`{tmp_path / 'table'}`")
    assert history.count() == len({commit.version for commit in commits}), "one transaction for each commit"


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_killed_driver_leaves_each_row_once(delta: Any, tmp_path: Path, step: str) -> None:
    """The driver is killed before Delta's commit, or after it and before the marker."""
    with driver("ha_delta.py", str(COUNT), str(tmp_path), step) as first:
        assert first.wait() == -signal.SIGKILL, first.output()
    with driver("ha_delta.py", str(COUNT), str(tmp_path), step) as second:
        assert second.wait() == 0, second.output()
    assert rows_of(delta, tmp_path / "table") == golden(COUNT)
    appended = rows_of(delta, tmp_path / "appended")
    assert set(appended) == set(golden(COUNT))
    assert (len(appended) > COUNT) == (step == "after")


def test_a_job_goes_on_from_its_savepoint_with_another_app_and_loses_nothing(delta: Any, tmp_path: Path) -> None:
    """Versions of the next job begin where those of the last one were: by one app, Delta would skip them."""
    write = delta_writer(str(tmp_path / "table"))
    commits: list[TableCommit] = []

    def writing(frame: Any, commit: TableCommit) -> None:
        commits.append(commit)
        write(frame, commit)

    slowly = {"state_savepoints_dir": str(tmp_path / "savepoints"), "rekindle_epoch_max__records": "200"}
    env = environment(delta, str(tmp_path / "checkpoints"), **slowly)
    placed(env, 3 * COUNT).sink_to_data_frame(writing).uid("table")
    client = env.execute_async()
    wait_until(lambda: len(commits) > 1, "rows are committed", timeout=120)
    savepoint = client.stop_with_savepoint(False, None).result(120)
    done = rows_of(delta, tmp_path / "table")
    assert done == golden(len(done))
    assert len(done) < 3 * COUNT
    env = environment(delta, str(tmp_path / "checkpoints"), interval=2_000, execution_state__recovery_path=savepoint)
    placed(env, 3 * COUNT).sink_to_data_frame(writing).uid("table")
    env.execute()
    assert rows_of(delta, tmp_path / "table") == golden(3 * COUNT)
    assert len({commit.app_id for commit in commits}) == 2


def _append(path: Path) -> Any:
    return lambda frame: frame.write.format("delta").mode("append").save(str(path))
