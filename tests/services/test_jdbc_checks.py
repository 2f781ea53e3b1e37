"""check_sink crashes the JDBC sinks at every step, on PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from rekindle.common import Row, Types
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcSink
from rekindle.testing import check_sink
from support.seeds import SEED, rounds
from support.services.postgres import PASSWORD, USER, PostgresServer

ROW = Types.ROW_NAMED(["number"], [Types.INT()])
INSERT = "INSERT INTO t VALUES (?)"
CRASHES = rounds(8, 200)  # a run takes up to half a second: each attempt connects anew


def record(number: int) -> Row:
    return Row(number=number)


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    name = f"check_{uuid.uuid4().hex[:8]}"
    postgres.query("postgres", f"CREATE DATABASE {name}")
    postgres.query(name, "CREATE TABLE t (number INTEGER)")
    yield name
    for (prepared,) in postgres.query(name, "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
        postgres.query(name, f"ROLLBACK PREPARED '{prepared}'")
    postgres.query("postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("in_checkpoint", [False, True], ids=["prepared transactions", "rows in the checkpoint"])
def test_a_sink_on_postgresql_is_exactly_once(postgres: PostgresServer, database: str, in_checkpoint: bool) -> None:
    connection = JdbcConnectionOptions(postgres.url(database), None, USER, PASSWORD)
    options = JdbcExactlyOnceOptions(rows_in_checkpoint=in_checkpoint)
    check_sink(
        lambda: JdbcSink.exactly_once_sink(INSERT, ROW, connection, None, options),
        lambda: [record(number) for (number,) in postgres.query(database, "SELECT number FROM t")],
        records=record,
        type_info=ROW,
        seed=SEED,
        crashes=CRASHES,
        reset=lambda: postgres.query(database, "DELETE FROM t"),  # type: ignore[arg-type, return-value]
    )


def test_an_insert_on_postgresql_is_at_least_once(postgres: PostgresServer, database: str) -> None:
    connection = JdbcConnectionOptions(postgres.url(database), None, USER, PASSWORD)
    check_sink(
        lambda: JdbcSink.sink(INSERT, ROW, connection),
        lambda: [record(number) for (number,) in postgres.query(database, "SELECT number FROM t")],
        records=record,
        type_info=ROW,
        guarantee="at-least-once",
        seed=SEED,
        crashes=CRASHES,
        reset=lambda: postgres.query(database, "DELETE FROM t"),  # type: ignore[arg-type, return-value]
    )
