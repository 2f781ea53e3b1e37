"""The rules of JdbcSink that hold for every database, on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Instant, RestartStrategies, Row, RowKind, Types, WatermarkStrategy
from rekindle.connectors.jdbc.batch_writer import BatchWriter
from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError
from rekindle.connectors.jdbc.row_buffer import RowBuffer
from rekindle.connectors.jdbc.statements import statement_plan
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from rekindle.exceptions import StateRestoreError
from rekindle.testing import ManualClock, local_environment
from support.processes import wait_until

ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])
INSERT = "INSERT INTO t VALUES (?, ?)"


@dataclass
class Table:
    """A table in a file, and writers to it."""

    path: Path
    clock: ManualClock = field(default_factory=ManualClock)
    writers: list[SinkWriter] = field(default_factory=list)

    @property
    def options(self) -> JdbcConnectionOptions:
        return JdbcConnectionOptions(f"jdbc:sqlite:{self.path}", "org.sqlite.JDBC")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path, timeout=60)
        try:
            with connection:
                return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def rows(self) -> list[tuple[Any, ...]]:
        return self.query("SELECT * FROM t ORDER BY 1, 2")

    def writer(self, sink: JdbcSink, subtask: int = 0) -> SinkWriter:
        writer = sink.create_writer(SinkWriterContext(subtask, 2, 0, "job-sink", self.clock))
        self.writers.append(writer)
        return writer

    def at_least_once(self, sql: str = INSERT, **options: int) -> SinkWriter:
        return self.writer(JdbcSink.sink(sql, ROW, self.options, JdbcExecutionOptions(**options)))

    def exactly_once(self) -> SinkWriter:
        return self.writer(JdbcSink.exactly_once_sink(INSERT, ROW, self.options))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    table = Table(tmp_path / "test.db")
    table.query("CREATE TABLE t (name TEXT, number INTEGER CHECK (number < 1000))")
    yield table
    for writer in table.writers:
        writer.close()


# ---- At least once ----


def test_a_full_batch_is_written_and_the_rest_waits_for_the_checkpoint(table: Table) -> None:
    writer = table.at_least_once(batch_size=2)
    writer.write([Row("a", 1), Row("b", 2), Row("c", 3)], None)
    assert table.rows() == [("a", 1), ("b", 2)]
    assert writer.prepare_commit(1) == []
    assert table.rows() == [("a", 1), ("b", 2), ("c", 3)]


def test_rows_do_not_wait_longer_than_the_interval_while_records_come(table: Table) -> None:
    writer = table.at_least_once(batch_interval_ms=100)
    writer.write([("a", 1)], None)
    assert table.rows() == []
    table.clock.advance(100)
    writer.write([("b", 2)], None)
    assert table.rows() == [("a", 1), ("b", 2)]


def test_records_of_all_kinds_become_rows(table: Table) -> None:
    writer = table.at_least_once()
    writer.write([Row("a", 1), ("b", 2), {"number": 3, "name": "c"}, Row(number=4, name="d"), Row(None, None)], None)
    writer.prepare_commit(1)
    assert table.rows() == [(None, None), ("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_a_function_can_make_the_parameters(table: Table) -> None:
    sink = JdbcSink.builder().with_query_statement(INSERT, lambda word: (word, len(word)))
    writer = table.writer(sink.build_at_least_once(table.options))
    writer.write(["four", "to"], None)
    writer.prepare_commit(1)
    assert table.rows() == [("four", 4), ("to", 2)]


def test_a_row_that_the_database_refuses_is_named_with_its_statement(table: Table) -> None:
    writer = table.at_least_once()
    writer.write([("a", 1), ("b", 5000), ("c", 3)], None)
    with pytest.raises(JdbcSinkError, match=r"CHECK constraint failed[^$]*INSERT INTO t[^$]*\('b', 5000\)"):
        writer.prepare_commit(1)
    assert table.rows() == []  # a batch is written as a whole


def test_a_batch_that_failed_is_written_with_the_next_checkpoint(table: Table) -> None:
    table.query("ALTER TABLE t RENAME TO away")
    writer = table.at_least_once()
    writer.write([("a", 1)], None)
    with pytest.raises(JdbcSinkError, match="no such table: t"):
        writer.prepare_commit(1)
    table.query("ALTER TABLE away RENAME TO t")
    writer.write([("b", 2)], None)
    writer.prepare_commit(2)
    assert table.rows() == [("a", 1), ("b", 2)]


def test_what_may_succeed_later_is_tried_again_with_growing_pauses(table: Table) -> None:
    pauses: list[float] = []
    database = Database(table.options, sleep=pauses.append)
    failing = Failing(3, sqlite3.OperationalError("database is locked"))
    database.transaction(failing, 4, "write rows to")
    assert (failing.calls, pauses) == (4, [0.0, 1.0, 2.0])
    with pytest.raises(JdbcSinkError, match=r"cannot write rows to jdbc:sqlite:.* \(tried 2 times\): .* locked"):
        database.transaction(Failing(3, sqlite3.OperationalError("database is locked")), 2, "write rows to")
    never = Failing(1, sqlite3.IntegrityError("no"))
    with pytest.raises(JdbcSinkError, match=r"cannot write rows to jdbc:sqlite:[^()]*: no"):
        database.transaction(never, 4, "write rows to")
    assert never.calls == 1
    database.close()


class Failing:
    """Fail some times, and then no more."""

    def __init__(self, times: int, error: Exception) -> None:
        self.times = times
        self.error = error
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error


def test_values_that_sqlite_has_no_type_for_become_text(table: Table) -> None:
    types = [Types.BIG_DEC(), Types.BIG_INT(), Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP()]
    types += [Types.INSTANT(), Types.PRIMITIVE_ARRAY(Types.BYTE())]
    table.query("CREATE TABLE u (a, b, c, d, e, f, g)")
    writer = table.writer(JdbcSink.sink("INSERT INTO u VALUES (?, ?, ?, ?, ?, ?, ?)", Types.ROW(types), table.options))
    moment = datetime(2026, 1, 2, 3, 4, 5, 600)
    instant = Instant.of_epoch_milli(1)
    values = Row(Decimal("1.10"), 2**70, date(2026, 1, 2), time(3, 4), moment, instant, b"x")
    writer.write([values, Row(*[None] * 7)], None)
    writer.prepare_commit(1)
    assert table.query("SELECT * FROM u") == [
        ("1.10", str(2**70), "2026-01-02", "03:04:00", str(moment), "1970-01-01 00:00:00.001000+00:00", b"x"),
        (None,) * 7,
    ]


# ---- Changelogs ----


def test_a_changelog_is_applied_in_its_order(table: Table) -> None:
    table.query("CREATE UNIQUE INDEX key ON t (name)")
    upsert = f"{INSERT} ON CONFLICT (name) DO UPDATE SET number = excluded.number"
    sink = JdbcSink.builder().with_query_statement(upsert, ROW)
    sink.with_delete_statement("DELETE FROM t WHERE name = ?", ["name"])
    for writer in (
        table.writer(sink.build_at_least_once(table.options)),
        table.writer(sink.build_exactly_once(table.options)),
    ):
        table.query("DELETE FROM t")
        kinds = [
            (RowKind.INSERT, "a", 1),
            (RowKind.INSERT, "b", 1),
            (RowKind.UPDATE_BEFORE, "a", 1),
            (RowKind.UPDATE_AFTER, "a", 2),
            (RowKind.DELETE, "b", 1),
            (RowKind.INSERT, "c", 3),
            (RowKind.DELETE, "c", 3),
            (RowKind.INSERT, "c", 4),
        ]
        writer.write([Row.of_kind(kind, name, number) for kind, name, number in kinds], None)
        writer.commit(writer.prepare_commit(1))
        assert table.rows() == [("a", 2), ("c", 4)]


def test_a_batch_of_rows_that_are_ignored_does_not_stop_the_sink(table: Table) -> None:
    plan = statement_plan(INSERT, ROW, "DELETE FROM t WHERE name = ?", ["name"])
    buffer = RowBuffer(plan.bind(table.options._dialect), 2)
    before, after = Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)
    assert list(islice(buffer.fill([before, before, before, before, after]), 10)) == []
    assert buffer.runs == [(0, [("a", 2)])]
    assert len(list(islice(buffer.fill([after]), 1))) == 1


# ---- Exactly once, with rows in the checkpoint ----


def test_rows_are_written_when_their_checkpoint_is_complete(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    first = writer.prepare_commit(1)
    writer.write([("b", 2)], None)
    assert table.rows() == []
    writer.commit(first)
    assert table.rows() == [("a", 1)]
    writer.commit(writer.prepare_commit(2))
    assert table.rows() == [("a", 1), ("b", 2)]
    assert writer.prepare_commit(3) == []


def test_a_commit_that_is_repeated_by_anybody_changes_nothing(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1)], None)
    first = crashed.prepare_commit(1)
    crashed.write([("b", 2)], None)
    second = crashed.prepare_commit(2)
    crashed.commit(first)
    restored = table.exactly_once()
    restored.commit([*first, *second])
    restored.commit([*first, *second])
    crashed.commit(second)
    assert table.rows() == [("a", 1), ("b", 2)]
    assert [committed for _, committed in table.query("SELECT * FROM rekindle_commits")] == [2]


def test_rows_in_a_checkpoint_are_written_by_the_statement_that_they_were_for(table: Table) -> None:
    before = table.exactly_once()
    before.write([("a", 1)], None)
    waiting = before.prepare_commit(1)
    turned = Types.ROW_NAMED(["number", "name"], [Types.INT(), Types.STRING()])
    after = table.writer(
        JdbcSink.exactly_once_sink("INSERT INTO t (number, name) VALUES (?, ?)", turned, table.options)
    )
    after.commit(waiting)
    after.write([(2, "b")], None)
    after.commit(after.prepare_commit(2))
    assert table.rows() == [("a", 1), ("b", 2)]


def test_a_commit_that_fails_leaves_nothing_and_can_be_repeated(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1), ("b", 5000)], None)
    committables = writer.prepare_commit(1)
    with pytest.raises(JdbcSinkError, match=r"CHECK constraint failed[^$]*\('b', 5000\)"):
        writer.commit(committables)
    assert table.rows() == []
    assert [committed for _, committed in table.query("SELECT * FROM rekindle_commits")] == [0]


def test_a_table_of_commits_that_was_emptied_is_an_error(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    committables = writer.prepare_commit(1)
    table.query("DELETE FROM rekindle_commits")
    with pytest.raises(StateRestoreError, match=r"rekindle_commits of jdbc:sqlite:.* has no row"):
        writer.commit(committables)


def test_a_commit_of_another_kind_of_sink_is_refused(table: Table) -> None:
    with pytest.raises(StateRestoreError, match="not of a JdbcSink that keeps rows in the checkpoint"):
        table.exactly_once().commit([b"\x80"])


# ---- Jobs ----


def run_numbers(table: Table, tmp_path: Path, sink: JdbcSink, add: Callable[..., Any]) -> None:
    """Write the numbers below 600 while a slot dies."""
    env = local_environment(2, {"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    env.enable_checkpointing(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    source = DataGeneratorSource(
        lambda number: Row(f"n{number}", number), 600, ROW, RateLimiterStrategy.per_second(600)
    )
    add(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"), sink)
    client = env.execute_async()
    wait_until(lambda: len(table.rows()) > 50, "rows are written")
    env.cluster.kill_slot(1)
    client.get_job_execution_result().result()


def test_each_row_is_written_once_though_a_slot_dies(table: Table, tmp_path: Path) -> None:
    options = JdbcExactlyOnceOptions.builder().with_commit_table("notes").build()
    sink = JdbcSink.exactly_once_sink(INSERT, ROW, table.options, None, options)
    run_numbers(table, tmp_path, sink, lambda stream, sink: stream.sink_to(sink))
    assert sorted(number for _, number in table.rows()) == list(range(600))


def test_an_upsert_leaves_each_row_once_though_a_slot_dies(table: Table, tmp_path: Path) -> None:
    table.query("CREATE UNIQUE INDEX key ON t (name)")
    sink = JdbcSink.sink(f"{INSERT} ON CONFLICT (name) DO UPDATE SET number = excluded.number", ROW, table.options)
    run_numbers(table, tmp_path, sink, lambda stream, sink: stream.add_sink(sink))
    assert sorted(number for _, number in table.rows()) == list(range(600))


def test_an_insert_at_least_once_loses_nothing_though_a_slot_dies(table: Table, tmp_path: Path) -> None:
    sink = JdbcSink.sink(INSERT, ROW, table.options)
    run_numbers(table, tmp_path, sink, lambda stream, sink: stream.add_sink(sink))
    assert {number for _, number in table.rows()} == set(range(600))


def test_a_sink_for_add_sink_takes_part_in_checkpoints(table: Table) -> None:
    assert isinstance(table.at_least_once(), BatchWriter)
    env = local_environment()
    env.from_collection([("a", 1)], ROW).add_sink(JdbcSink.sink(INSERT, ROW, table.options)).name("to t")
    env.execute()
    assert table.rows() == [("a", 1)]
