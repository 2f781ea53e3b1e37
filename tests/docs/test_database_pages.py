"""What the pages about databases and changelogs show is true."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.base.clock import SystemClock
from rekindle.common import Row, RowKind
from rekindle.connectors.jdbc.jdbc_sink import JdbcSinkSettings
from rekindle.contracts.connectors import SinkWriterContext
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from support.in_process_job import InProcessJob, collect

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATABASES, CHANGELOGS = (DOCS / "databases.md").read_text(), (DOCS / "cdc.md").read_text()


def run_blocks(page: str) -> dict[str, Any]:
    """Run all programs of a page one after the other, and return the names they leave."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        exec(compile(block, "page", "exec"), names)
    return names


def written(sink: JdbcSink, path: Path, records: list[Any]) -> None:
    """Let a sink of a page write to a file of SQLite instead."""
    settings = sink._settings
    elsewhere = JdbcConnectionOptions(f"jdbc:sqlite:{path}")
    again = JdbcSinkSettings(settings.statements, elsewhere, settings.execution_options, settings.exactly_once_options)
    writer = JdbcSink(again).create_writer(SinkWriterContext(0, 1, 0, "job-sink", SystemClock()))
    writer.write(records, None)
    writer.commit(writer.prepare_commit(1))
    writer.close()


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run programs in this process; return what they print."""
    printed: list[str] = []

    def execute(env: StreamExecutionEnvironment, job_name: str) -> None:
        with InProcessJob(env, 1) as job:
            printed.extend(map(str, job.run_to_end()))

    monkeypatch.setattr(DataStream, "print", collect)
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    return printed


def test_the_program_with_a_changelog_prints_what_stands_below_it(executed: list[str], tmp_path: Path) -> None:
    names = run_blocks(CHANGELOGS)
    (output,) = re.findall(r"^```text\n(.*?)^```$", CHANGELOGS, re.DOTALL | re.MULTILINE)
    assert executed == output.splitlines()
    query(tmp_path / "shop", "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, weight REAL)")
    kinds = [(RowKind.INSERT, 1), (RowKind.INSERT, 2), (RowKind.UPDATE_BEFORE, 1), (RowKind.DELETE, 2)]
    written(names["mirror"], tmp_path / "shop", [Row.of_kind(kind, number, "x", 1.0) for kind, number in kinds])
    assert query(tmp_path / "shop", "SELECT * FROM products") == [(1, "x", 1.0)]
    row = Row(id=1, name="x", weight=0.5)
    assert names["reading"].deserialize(names["writing"].serialize(row)) == row


def test_the_sinks_of_the_page_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sinks: list[Any] = []
    monkeypatch.setattr(DataStream, "add_sink", lambda stream, sink: sinks.append(sink))
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", lambda env, name: None)
    monkeypatch.setitem(sys.modules, "pymysql", SimpleNamespace(connect=lambda **options: options))  # type: ignore[arg-type]
    names = run_blocks(DATABASES)
    query(tmp_path / "shop", "CREATE TABLE visits (person TEXT PRIMARY KEY, pages INTEGER)")
    written(sinks[0], tmp_path / "shop", [Row("ann", 3), Row("ann", 4)])
    assert query(tmp_path / "shop", "SELECT * FROM visits") == [("ann", 4)]
    written(names["sink"], tmp_path / "shop", [Row("bob", 1)])
    assert query(tmp_path / "shop", "SELECT * FROM visits") == [("ann", 4), ("bob", 1)]
    options = names["connection"]
    assert options._dialect.connect("//db.example:3307/shop", "shop", None, None)["port"] == 3307


def test_every_option_is_on_the_page() -> None:
    builders = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder,
        JdbcExecutionOptions.Builder,
        JdbcExactlyOnceOptions.Builder,
        JdbcSink.Builder,
    )
    names = {name for builder in builders for name in vars(builder) if name.startswith(("with_", "build_"))}
    names -= {"with_transaction_per_connection", "build_exactly_once"}  # without effect; named by its counterpart
    assert [name for name in sorted(names) if name not in DATABASES] == []
