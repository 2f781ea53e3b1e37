"""JdbcSink on a real PostgreSQL server, which is killed, too."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from rekindle.common import Instant, Row, RowKind, Types
from rekindle.connectors.jdbc.errors import JdbcSinkError
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from rekindle.exceptions import ConfigurationError, OutputLostError, StateRestoreError
from rekindle.testing import ManualClock
from support.services.postgres import PASSWORD, USER, PostgresServer

ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])
INSERT = "INSERT INTO t VALUES (?, ?)"
UPSERT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET number = excluded.number"

_databases = itertools.count()


@dataclass
class Table:
    """A table in a database of its own, and writers to it."""

    server: PostgresServer
    database: str
    writers: list[SinkWriter] = field(default_factory=list)

    @property
    def options(self) -> JdbcConnectionOptions:
        return JdbcConnectionOptions(self.server.url(self.database), "org.postgresql.Driver", USER, PASSWORD)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.query(self.database, sql)

    def rows(self) -> list[tuple[Any, ...]]:
        return self.query("SELECT * FROM t ORDER BY 1, 2")

    def prepared(self) -> list[str]:
        names = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared"
        return [name for (name,) in self.query(names)]

    def writer(self, sink: JdbcSink, subtask: int = 0, parallelism: int = 1) -> SinkWriter:
        writer = sink.create_writer(SinkWriterContext(subtask, parallelism, 0, "job-sink", ManualClock()))
        self.writers.append(writer)
        return writer

    def exactly_once(self, subtask: int = 0, parallelism: int = 1, sql: str = INSERT, **options: Any) -> SinkWriter:
        execution, once = JdbcExecutionOptions(batch_size=2), JdbcExactlyOnceOptions(**options)
        sink = JdbcSink.exactly_once_sink(sql, ROW, self.options, execution, once)
        return self.writer(sink, subtask, parallelism)


@pytest.fixture
def table(postgres: PostgresServer) -> Iterator[Table]:
    table = Table(postgres, f"test_{next(_databases)}")
    postgres.query("postgres", f"CREATE DATABASE {table.database}")
    table.query("CREATE TABLE t (name TEXT, number INTEGER CHECK (number < 1000000))")
    yield table
    for writer in table.writers:
        writer.close()
    for name in table.prepared():
        table.query(f"ROLLBACK PREPARED '{name}'")
    postgres.query("postgres", f"DROP DATABASE {table.database} WITH (FORCE)")


# ---- At least once ----


def test_types_arrive_as_the_columns_have_them(table: Table) -> None:
    columns = {
        "text": (Types.STRING(), "é"),
        "smallint": (Types.SHORT(), -1),
        "bigint": (Types.LONG(), 2**40),
        "boolean": (Types.BOOLEAN(), True),
        "real": (Types.FLOAT(), 0.5),
        "double precision": (Types.DOUBLE(), 0.1),
        "numeric": (Types.BIG_DEC(), Decimal("1.10")),
        "date": (Types.SQL_DATE(), date(2026, 1, 2)),
        "time": (Types.SQL_TIME(), time(3, 4, 5, 6)),
        "timestamp": (Types.SQL_TIMESTAMP(), datetime(2026, 1, 2, 3, 4, 5, 6)),
        "timestamptz": (Types.INSTANT(), Instant.of_epoch_milli(1)),
        "bytea": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
        "text[]": (Types.OBJECT_ARRAY(Types.STRING()), ["a", None]),
        "jsonb": (Types.STRING(), '{"a": 1}'),
    }
    named = ", ".join(f"c{number} {column}" for number, column in enumerate(columns))
    table.query(f"CREATE TABLE u ({named})")
    types = Types.ROW([type_info for type_info, _ in columns.values()])
    sql = f"INSERT INTO u VALUES ({', '.join('?' * len(columns))})"
    writer = table.writer(JdbcSink.sink(sql, types, table.options))
    writer.write([Row(*[value for _, value in columns.values()]), Row(*[None] * len(columns))], None)
    writer.prepare_commit(1)
    values = [value for _, value in columns.values()]
    values[10], values[13] = datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), {"a": 1}
    assert [list(row) for row in table.query("SELECT * FROM u")] == [values, [None] * len(columns)]


def test_operators_and_percent_signs_reach_the_database(table: Table) -> None:
    table.query("CREATE TABLE u (document jsonb, share text)")
    table.query("""INSERT INTO u VALUES ('{"a": 1}', NULL), ('{"b": 1}', NULL)""")
    sql = "UPDATE u SET share = '10%' || ? WHERE document ?? ? AND 7 % 2 = 1 -- all?"
    writer = table.writer(JdbcSink.sink(sql, Types.ROW([Types.STRING(), Types.STRING()]), table.options))
    writer.write([Row("!", "a")], None)
    writer.prepare_commit(1)
    assert table.query("SELECT share FROM u ORDER BY 1") == [("10%!",), (None,)]


def test_a_row_that_the_database_refuses_is_named_and_no_secret_is(table: Table) -> None:
    writer = table.writer(JdbcSink.sink(INSERT, ROW, table.options))
    writer.write([("a", 1), ("b", 5_000_000)], None)
    with pytest.raises(JdbcSinkError, match=r"violates check constraint[^$]*INSERT INTO t[^$]*'b', 5000000") as raised:
        writer.prepare_commit(1)
    assert PASSWORD not in str(raised.value)
    assert table.rows() == []


def test_a_wrong_password_is_not_shown(table: Table) -> None:
    options = JdbcConnectionOptions(table.options.get_db_url(), None, USER, "wrong-secret")
    writer = table.writer(JdbcSink.sink(INSERT, ROW, options, JdbcExecutionOptions(max_retries=0)))
    writer.write([("a", 1)], None)
    with pytest.raises(JdbcSinkError, match="password authentication failed") as raised:
        writer.prepare_commit(1)
    assert "wrong-secret" not in str(raised.value)


def test_a_batch_is_written_after_the_connection_broke(table: Table) -> None:
    writer = table.writer(JdbcSink.sink(INSERT, ROW, table.options))
    writer.write([("a", 1)], None)
    writer.prepare_commit(1)
    table.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    writer.write([("b", 2)], None)
    writer.prepare_commit(2)
    assert table.rows() == [("a", 1), ("b", 2)]


def test_a_changelog_is_applied_in_its_order(table: Table) -> None:
    table.query("CREATE UNIQUE INDEX ON t (name)")
    builder = JdbcSink.builder().with_query_statement(UPSERT, ROW)
    builder.with_delete_statement("DELETE FROM t WHERE name = ?", ["name"])
    writer = table.writer(builder.build_at_least_once(table.options))
    changes = [
        (RowKind.INSERT, "a", 1),
        (RowKind.INSERT, "b", 1),
        (RowKind.UPDATE_BEFORE, "a", 1),
        (RowKind.UPDATE_AFTER, "a", 2),
        (RowKind.DELETE, "b", 1),
    ]
    writer.write([Row.of_kind(kind, name, number) for kind, name, number in changes], None)
    writer.prepare_commit(1)
    assert table.rows() == [("a", 2)]


# ---- Exactly once: the life of a transaction ----


def test_rows_are_visible_when_their_transaction_is_committed(table: Table) -> None:
    writer = table.exactly_once(subtask=1, parallelism=3)
    writer.write([("a", 1), ("b", 2), ("c", 3)], None)
    assert table.prepared() == []
    committables = writer.prepare_commit(7)
    [name] = table.prepared()
    assert name.startswith("rekindle-")
    assert name.endswith("-7")
    assert table.rows() == []
    writer.write([("d", 4)], None)
    writer.commit(committables)
    assert table.rows() == [("a", 1), ("b", 2), ("c", 3)]
    writer.commit(writer.prepare_commit(8))
    assert len(table.rows()) == 4
    assert writer.prepare_commit(9) == []
    assert table.prepared() == []


def test_a_repeated_commit_changes_nothing(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    committables = writer.prepare_commit(1)
    writer.commit(committables)
    writer.commit(committables)
    table.exactly_once().commit(committables)
    assert table.rows() == [("a", 1)]


def test_a_transaction_that_somebody_rolled_back_is_not_taken_as_committed(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    committables = writer.prepare_commit(1)
    table.query(f"ROLLBACK PREPARED '{table.prepared()[0]}'")
    with pytest.raises(StateRestoreError, match=r"it was rolled back. Its rows are lost"):
        writer.commit(committables)


def test_a_commit_of_another_kind_of_sink_is_refused(table: Table) -> None:
    with pytest.raises(StateRestoreError, match="not of a JdbcSink with prepared transactions"):
        table.exactly_once().commit([b"\x80"])


def test_closing_leaves_what_is_prepared_and_nothing_else(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    committables = writer.prepare_commit(1)
    writer.write([("b", 2), ("c", 3)], None)
    writer.close()
    writer.close()
    restored = table.exactly_once()
    restored.commit(committables)
    restored.abort_leftovers()
    assert table.rows() == [("a", 1)]
    assert table.prepared() == []


def test_a_statement_that_fails_at_the_barrier_is_lost_output(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 5_000_000)], None)
    with pytest.raises(OutputLostError, match="violates check constraint"):
        writer.prepare_commit(1)
    with pytest.raises(JdbcSinkError, match=r"violates check constraint[^$]*5000000"):
        table.exactly_once().write([("a", 1), ("a", 5_000_000)], None)


def test_rows_that_a_prepared_transaction_has_locked_are_not_waited_for_forever(table: Table) -> None:
    table.query("CREATE UNIQUE INDEX ON t (name)")
    writer = table.exactly_once(sql=UPSERT, lock_timeout_sec=1)
    writer.write([("a", 1)], None)
    writer.prepare_commit(1)
    with pytest.raises(JdbcSinkError, match=r"within 1 s.*with_rows_in_checkpoint"):
        writer.write([("a", 2), ("b", 1)], None)


def test_rows_in_the_checkpoint_lock_nothing(table: Table) -> None:
    table.query("CREATE UNIQUE INDEX ON t (name)")
    writer = table.exactly_once(sql=UPSERT, rows_in_checkpoint=True)
    writer.write([("a", 1)], None)
    first = writer.prepare_commit(1)
    writer.write([("a", 2), ("b", 1)], None)
    second = writer.prepare_commit(2)
    assert table.rows() == table.prepared() == []
    writer.commit([*first, *second])
    table.exactly_once(sql=UPSERT, rows_in_checkpoint=True).commit([*first, *second])
    assert table.rows() == [("a", 2), ("b", 1)]


def test_a_server_without_prepared_transactions_is_refused_by_the_name_of_its_setting(table: Table) -> None:
    table.server.kill()
    table.server.start(max_prepared_transactions=0)
    try:
        with pytest.raises(ConfigurationError, match=r"max_prepared_transactions.*with_rows_in_checkpoint"):
            table.exactly_once()
        writer = table.exactly_once(rows_in_checkpoint=True)
        writer.write([("a", 1)], None)
        writer.commit(writer.prepare_commit(1))
        assert table.rows() == [("a", 1)]
    finally:
        table.server.kill()
        table.server.start()


def test_more_transactions_than_the_server_keeps_are_refused_by_the_name_of_its_setting(table: Table) -> None:
    table.server.kill()
    table.server.start(max_prepared_transactions=1)
    try:
        first, second = table.exactly_once(0, 2), table.exactly_once(1, 2)
        first.write([("a", 1)], None)
        second.write([("b", 2)], None)
        first.prepare_commit(1)
        with pytest.raises(OutputLostError, match="Increase max_prepared_transactions"):
            second.prepare_commit(1)
    finally:
        table.server.query(table.database, f"ROLLBACK PREPARED '{table.prepared()[0]}'")
        table.server.kill()
        table.server.start()


# ---- Exactly once: a crash at each step ----


def test_a_crash_before_the_transaction_is_prepared_leaves_nothing(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1), ("b", 2)], None)
    table.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(OutputLostError):
        crashed.prepare_commit(1)
    restored = table.exactly_once()
    restored.abort_leftovers()
    assert table.rows() == table.prepared() == []


def test_a_crash_after_the_transaction_was_prepared_rolls_it_back(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1)], None)
    crashed.prepare_commit(1)  # and the checkpoint is never complete
    restored = table.exactly_once()
    restored.abort_leftovers()
    assert table.rows() == table.prepared() == []


def test_a_crash_before_the_commit_commits_after_the_restore_and_rolls_back_what_came_later(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1)], None)
    committables = crashed.prepare_commit(1)
    crashed.write([("b", 2)], None)
    crashed.prepare_commit(2)
    crashed.write([("c", 3), ("d", 4)], None)
    restored = table.exactly_once()
    restored.commit(committables)
    restored.abort_leftovers()
    assert table.rows() == [("a", 1)]
    assert table.prepared() == []


def test_a_crash_after_the_commit_commits_nothing_again(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1)], None)
    committables = crashed.prepare_commit(1)
    crashed.commit(committables)
    restored = table.exactly_once()
    restored.commit(committables)
    restored.abort_leftovers()
    assert table.rows() == [("a", 1)]


def test_a_crash_while_leftovers_are_removed_is_made_up_for(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for subtask in (0, 1, 2):
        crashed = table.exactly_once(subtask, 3)
        crashed.write([("a", subtask)], None)
        crashed.prepare_commit(1)
    restored = table.exactly_once()
    roll_back, calls = restored._transactions.roll_back, itertools.count()  # type: ignore[attr-defined]

    def crashing(name: str) -> bool:
        if next(calls) == 1:
            raise KeyboardInterrupt("crash")
        return bool(roll_back(name))

    monkeypatch.setattr(restored._transactions, "roll_back", crashing)  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        restored.abort_leftovers()
    assert len(table.prepared()) == 2
    table.exactly_once().abort_leftovers()
    assert table.rows() == table.prepared() == []


def test_prepared_transactions_survive_a_crash_of_the_server(table: Table) -> None:
    writer = table.exactly_once()
    writer.write([("a", 1)], None)
    committables = writer.prepare_commit(1)
    writer.write([("b", 2), ("c", 3)], None)
    table.server.kill()
    table.server.start()
    writer.commit(committables)  # on a new connection
    assert table.rows() == [("a", 1)]
    with pytest.raises(OutputLostError):
        writer.prepare_commit(2)
    with pytest.raises(JdbcSinkError):  # a writer whose connection broke does not come back
        writer.write([("d", 4), ("e", 5)], None)


# ---- Exactly once: who may do what ----


def test_a_writer_of_an_earlier_attempt_can_prepare_nothing_any_more(table: Table) -> None:
    table.query("CREATE UNIQUE INDEX ON t (name)")
    zombie = table.exactly_once()
    zombie.write([("a", 1), ("b", 2)], None)  # holds locks on these keys
    restored = table.exactly_once()
    restored.abort_leftovers()
    restored.write([("a", 1), ("b", 2)], None)
    with pytest.raises(OutputLostError):
        zombie.prepare_commit(1)
    restored.commit(restored.prepare_commit(1))
    assert table.rows() == [("a", 1), ("b", 2)]
    assert table.prepared() == []


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3), (1, 4), (4, 1)])
def test_a_job_with_another_parallelism_commits_and_rolls_back_all(table: Table, before: int, after: int) -> None:
    committables = []
    for subtask in range(before):
        crashed = table.exactly_once(subtask, before)
        crashed.write([("kept", subtask)], None)
        committables.append(crashed.prepare_commit(1))
        crashed.write([("lost", subtask)], None)
        crashed.prepare_commit(2)
    for subtask in range(after):
        restored = table.exactly_once(subtask, after)
        own = [prepared for owner in range(subtask, before, after) for prepared in committables[owner]]
        restored.commit(own)
        restored.abort_leftovers()
    assert table.rows() == [("kept", subtask) for subtask in range(before)]
    assert table.prepared() == []


def test_another_job_is_left_alone(table: Table) -> None:
    other = JdbcSink.exactly_once_sink(INSERT, ROW, table.options)
    stranger = other.create_writer(SinkWriterContext(0, 1, 0, "another-job", ManualClock()))
    table.writers.append(stranger)
    stranger.write([("a", 1)], None)
    committables = stranger.prepare_commit(1)
    stranger.write([("b", 2)], None)
    table.exactly_once().abort_leftovers()
    stranger.commit(committables)
    stranger.commit(stranger.prepare_commit(2))
    assert table.rows() == [("a", 1), ("b", 2)]


def test_what_a_savepoint_refers_to_is_not_rolled_back(table: Table) -> None:
    crashed = table.exactly_once()
    crashed.write([("a", 1)], None)
    in_savepoint = crashed.prepare_commit(1)
    crashed.keep(in_savepoint)
    crashed.write([("b", 2)], None)
    crashed.prepare_commit(2)
    restored = table.exactly_once()  # from the checkpoint before the savepoint
    restored.abort_leftovers()
    assert len(table.prepared()) == 1
    from_savepoint = table.exactly_once()
    from_savepoint.commit(in_savepoint)
    from_savepoint.abort_leftovers()
    assert table.rows() == [("a", 1)]
    assert table.prepared() == []
    assert table.query("SELECT * FROM rekindle_commits") == []
