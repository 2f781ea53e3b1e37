"""What options accept, keep and show."""

from __future__ import annotations

import pickle
import sys

import pytest

from rekindle.common import Types
from rekindle.datastream import connectors
from rekindle.datastream.connectors import jdbc
from rekindle.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcDialect,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
    register_dialect,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError

SQLITE = JdbcConnectionOptions("jdbc:sqlite:/tmp/none.db")
ROW = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])


def test_connection_options_keep_what_they_were_given_and_hide_the_password() -> None:
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url("jdbc:postgresql://db/shop?password=hidden")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("ann")
        .with_password("secret")
        .build()
    )
    assert options.get_db_url() == "jdbc:postgresql://db/shop?password=hidden"
    assert options.get_driver_name() == "org.postgresql.Driver"
    assert options.get_user_name() == "ann"
    assert options.get_password() == "secret"
    assert repr(options) == "JdbcConnectionOptions('jdbc:postgresql://db/shop?password=******', user_name='ann')"
    assert pickle.loads(pickle.dumps(options)).get_password() == "secret"


def test_nothing_about_a_sink_shows_the_password() -> None:
    options = JdbcConnectionOptions("jdbc:postgresql://db/shop?password=hidden", password="secret")
    sink = JdbcSink.sink("INSERT INTO t VALUES (?, ?)", ROW, options)
    assert "hidden" not in repr(sink._settings)
    assert "secret" not in repr(sink._settings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jdbc:oracle:thin:@db",), "no dialect for 'jdbc:oracle:thin:@db'.*register_dialect"),
        (("jdbc:postgresql://db/shop", "com.mysql.Driver"), "'com.mysql.Driver' is not for .*org.postgresql.Driver"),
        (("jdbc:sqlite::memory:",), "path of a file"),
        (("shop",), "is not a JDBC URL"),
    ],
)
def test_wrong_connections_are_refused_where_the_program_is_written(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        JdbcConnectionOptions(*arguments)


def test_connection_options_need_a_url() -> None:
    with pytest.raises(ConfigurationError, match="with_url"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()


def test_execution_options_have_flinks_defaults() -> None:
    defaults = JdbcExecutionOptions.defaults()
    numbers = (defaults.get_batch_interval_ms(), defaults.get_batch_size(), defaults.get_max_retries())
    assert numbers == (0, 5000, 3)
    built = JdbcExecutionOptions.builder().with_batch_interval_ms(7).with_batch_size(8).with_max_retries(9).build()
    assert (built.get_batch_interval_ms(), built.get_batch_size(), built.get_max_retries()) == (7, 8, 9)
    with pytest.raises(ConfigurationError, match="batch size of a database sink is 0"):
        JdbcExecutionOptions.builder().with_batch_size(0).build()


def test_exactly_once_options_are_checked() -> None:
    options = JdbcExactlyOnceOptions.builder().with_transaction_per_connection(True).build()
    assert (options.max_commit_attempts, options.lock_timeout_sec, options.rows_in_checkpoint) == (3, 60, False)
    with pytest.raises(ConfigurationError, match="commit table 'a; DROP TABLE b'"):
        JdbcExactlyOnceOptions.builder().with_commit_table("a; DROP TABLE b").build()
    with pytest.raises(ConfigurationError, match="number of commit attempts"):
        JdbcExactlyOnceOptions.builder().with_max_commit_attempts(0).build()


@pytest.mark.parametrize(
    ("sql", "type_info", "message"),
    [
        ("INSERT INTO t VALUES (?)", ROW, "1 placeholders, and its type has 2 fields"),
        ("INSERT INTO t VALUES (?)", Types.ROW([Types.LIST(Types.INT())]), "no column of SQLite"),
        ("INSERT INTO t VALUES (?)", Types.ROW([Types.MAP(Types.INT(), Types.INT())]), "no column of a database"),
        ("INSERT INTO t VALUES (?)", Types.ROW([Types.ROW([Types.INT()])]), "no column of a database"),
    ],
)
def test_a_statement_and_its_type_have_to_fit(sql: str, type_info: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        JdbcSink.sink(sql, type_info, SQLITE)  # type: ignore[arg-type]


def test_a_builder_needs_a_statement_and_known_keys() -> None:
    with pytest.raises(InvalidProgramError, match="with_query_statement"):
        JdbcSink.builder().build_at_least_once(SQLITE)
    builder = JdbcSink.builder().with_query_statement("INSERT INTO t VALUES (?, ?)", ROW)
    with pytest.raises(ConfigurationError, match=r"key fields \['c'\]"):
        builder.with_delete_statement("DELETE FROM t WHERE c = ?", ["c"]).build_at_least_once(SQLITE)
    with pytest.raises(ConfigurationError, match="it was given 2 key fields"):
        builder.with_delete_statement("DELETE FROM t WHERE a = ?", ["a", "b"]).build_at_least_once(SQLITE)
    with pytest.raises(TypeError, match=r"Types.ROW\(...\) or a function"):
        JdbcSink.builder().with_query_statement("SELECT 1", 5).build_at_least_once(SQLITE)  # type: ignore[arg-type]


def test_the_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    options = JdbcConnectionOptions("jdbc:postgresql://db/shop")
    with pytest.raises(ConfigurationError, match=r'pip install "psycopg\[binary\]>=3\.2,<4"'):
        options._dialect.connect("//db/shop", None, None, None)


def test_a_dialect_of_ones_own_is_chosen_by_its_scheme() -> None:
    class Duck(JdbcDialect):
        def connect(self, rest: str, user: str | None, password: str | None, application: str | None) -> object:  # type: ignore[override]
            raise NotImplementedError

    duck = Duck()
    register_dialect("duck", duck)
    assert JdbcConnectionOptions("jdbc:duck:pond")._dialect is duck
    with pytest.raises(TypeError, match="takes a JdbcDialect"):
        register_dialect("duck", Duck)  # type: ignore[arg-type]


def test_the_names_of_pyflink_are_where_it_has_them() -> None:
    assert {"JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"} <= set(jdbc.__all__)
    assert connectors.JdbcSink is JdbcSink
    assert connectors.JdbcConnectionOptions is JdbcConnectionOptions
    assert connectors.JdbcExecutionOptions is JdbcExecutionOptions
