"""A TwoPhaseCommitSinkFunction in a whole job, which fails in the middle."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies, Types, WatermarkStrategy
from rekindle.datastream import MapFunction, SinkFunction
from rekindle.datastream.connectors import NumberSequenceSource, TwoPhaseCommitSinkFunction
from rekindle.testing import local_environment


class Tables(TwoPhaseCommitSinkFunction[Any, str]):
    """Write to a database: a transaction is a name, under which rows wait until it is committed."""

    def __init__(self, path: str) -> None:
        super().__init__(Types.STRING())
        self.path = path

    def open(self, runtime_context: Any) -> None:
        self.database = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.attempt = runtime_context.get_attempt_number()
        self.begun = 0

    def begin_transaction(self) -> str:
        self.begun += 1
        return f"{self.attempt}-{self.subtask}-{self.begun}"

    def invoke(self, transaction: str, value: Any, context: SinkFunction.Context) -> None:
        self.database.execute("INSERT INTO waiting VALUES (?, ?)", [transaction, value])

    def pre_commit(self, transaction: str) -> None: ...

    def commit(self, transaction: str) -> None:
        self.database.execute("BEGIN IMMEDIATE")
        self.database.execute("INSERT INTO visible SELECT value FROM waiting WHERE name = ?", [transaction])
        self.database.execute("DELETE FROM waiting WHERE name = ?", [transaction])
        self.database.execute("COMMIT")

    def abort(self, transaction: str) -> None:
        self.database.execute("DELETE FROM waiting WHERE name = ?", [transaction])

    def close(self) -> None:
        self.database.close()


class FailingOnce(MapFunction):
    def __init__(self, flag: str) -> None:
        self.flag = flag

    def map(self, value: int) -> int:
        if value == 700 and not Path(self.flag).exists():
            Path(self.flag).touch()
            raise OSError("the disk is full")
        return value


@pytest.mark.parametrize("checkpointing", [True, False])
def test_a_job_that_fails_writes_each_record_once(tmp_path: Path, checkpointing: bool) -> None:
    path = str(tmp_path / "out.db")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE waiting (name TEXT, value INTEGER)")
        database.execute("CREATE TABLE visible (value INTEGER)")
    env = local_environment(2)
    numbers = env.from_source(NumberSequenceSource(1, 1_000), WatermarkStrategy.no_watermarks(), "numbers")
    if checkpointing:
        env.enable_checkpointing(10)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
        numbers = numbers.map(FailingOnce(str(tmp_path / "failed")))
    numbers.add_sink(Tables(path))
    env.execute("job")
    values = [value for (value,) in database.execute("SELECT value FROM visible")]
    database.close()
    assert sorted(values) == list(range(1, 1_001))
    assert (tmp_path / "failed").exists() == checkpointing
