"""A changelog of Debezium ends as the table that it describes, though slots die."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rekindle.common import RestartStrategies, Row, RowKind, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from rekindle.datastream.formats.json import DebeziumJsonDeserializationSchema
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.testing import local_environment
from support.processes import wait_until
from support.seeds import seeded

PRODUCT = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
UPSERT = "INSERT INTO products VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name"


class LatestRow(KeyedProcessFunction):
    """Keep the latest row of each key, and pass on only changes that fit it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._row = runtime_context.get_state(ValueStateDescriptor("row", PRODUCT))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        before = self._row.value()
        if value.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            assert before is not None
            assert list(before) == list(value), "the row before is the one that state has"
        if value.get_row_kind() is RowKind.DELETE:
            self._row.clear()
        else:
            self._row.update(value)
        yield value


def history(source: random.Random, count: int) -> tuple[list[bytes], dict[int, str]]:
    """Return changes of a table, as messages, and how the table ends."""
    table: dict[int, str] = {}
    messages = []
    for number in range(count):
        key = source.randrange(20)
        before = {"id": key, "name": table[key]} if key in table else None
        if before is not None and source.random() < 0.3:
            del table[key]
            messages.append({"before": before, "after": None, "op": "d"})
        else:
            table[key] = f"name {number}"
            after = {"id": key, "name": table[key]}
            messages.append({"before": before, "after": after, "op": "c" if before is None else "u"})
    return [json.dumps(message).encode() for message in messages], table


def test_a_changelog_ends_as_its_table_though_a_slot_dies(tmp_path: Path) -> None:
    messages, table = history(seeded(), 1500)
    path = tmp_path / "mirror.db"

    def rows() -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path, timeout=60)
        try:
            return connection.execute("SELECT * FROM products ORDER BY id").fetchall()
        finally:
            connection.close()

    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT)")
    connection.close()
    schema = DebeziumJsonDeserializationSchema(PRODUCT)
    env = local_environment(2, {"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    env.enable_checkpointing(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    source = DataGeneratorSource(
        lambda number: messages[number],
        len(messages),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        RateLimiterStrategy.per_second(1500),
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "messages").set_parallelism(1)
    changes = stream.flat_map(lambda message: schema.deserialize_all([message])[0], PRODUCT).set_parallelism(1)
    sink = (
        JdbcSink.builder()
        .with_query_statement(UPSERT, PRODUCT)
        .with_delete_statement("DELETE FROM products WHERE id = ?", ["id"])
        .build_at_least_once(JdbcConnectionOptions(f"jdbc:sqlite:{path}"))
    )
    changes.key_by(lambda row: row.id).process(LatestRow(), PRODUCT).sink_to(sink)
    client = env.execute_async()
    wait_until(lambda: len(rows()) > 5, "rows are written")
    env.cluster.kill_slot(1)
    client.get_job_execution_result().result()
    assert rows() == sorted(table.items())
