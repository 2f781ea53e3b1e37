"""A changelog of Debezium, from Kafka into state: it ends as the table that it describes, though slots are killed."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from rekindle.common import Configuration, RestartStrategies, Row, RowKind, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from rekindle.datastream.formats.json import DebeziumJsonDeserializationSchema
from rekindle.datastream.state import ValueStateDescriptor
from support.processes import slot_pids
from support.seeds import seeded
from support.services.kafka import Broker

PRODUCT = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
TOPIC = "changes-of-products"


class LatestRow(KeyedProcessFunction):
    """Keep the latest row of each key; tell of each change what the table has then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._row = runtime_context.get_state(ValueStateDescriptor("row", PRODUCT))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self._row.value()
        kind = value.get_row_kind()
        fits = before is None if kind is RowKind.INSERT else before is not None
        if kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            fits = before is not None and list(before) == list(value)
        if kind is RowKind.DELETE:
            self._row.clear()
        elif kind is not RowKind.UPDATE_BEFORE:
            self._row.update(value)
        row = self._row.value()
        yield ctx.get_current_key(), None if row is None else row.name, fits


def history(draw: random.Random, count: int) -> tuple[list[tuple[str, bytes | None]], dict[int, str], int]:
    """Return keys and messages of changes, how the table ends, and how many rows the changelog has."""
    table: dict[int, str] = {}
    messages: list[tuple[str, bytes | None]] = []
    rows = 0
    for number in range(count):
        key = draw.randrange(30)
        before = {"id": key, "name": table[key]} if key in table else None
        name = json.dumps({"id": key})
        if before is not None and draw.random() < 0.3:
            del table[key]
            messages.append((name, json.dumps({"before": before, "after": None, "op": "d"}).encode()))
            messages.append((name, None))  # Debezium's tombstone, for compaction
            rows += 1
            continue
        table[key] = f"name {number}"
        change = {"before": before, "after": {"id": key, "name": table[key]}, "op": "u" if before else "c"}
        messages.append((name, json.dumps(change).encode()))
        rows += 2 if before else 1
    return messages, table, rows


@pytest.mark.parametrize("with_watermarks", [False, True])
def test_a_changelog_in_kafka_ends_as_its_table_though_a_slot_is_killed(
    kafka: Broker, spark: SparkSession, tmp_path: Path, with_watermarks: bool
) -> None:
    messages, table, rows = history(seeded(), 1500)
    topic = f"{TOPIC}-{with_watermarks}"
    kafka.create_topic(topic, 3)
    with Producer(kafka.client_settings(partitioner="murmur2_random")) as producer:
        for key, message in messages:
            producer.produce(topic, value=message, key=key)
        assert producer.flush(30) == 0
    settings = {"state.checkpoints.dir": str(tmp_path / "checkpoints"), "rest.enabled": "false"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings), spark)
    env.set_parallelism(2)
    env.enable_checkpointing(200)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.bootstrap_servers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_property("maxOffsetsPerTrigger", "200")
        .set_value_only_deserializer(DebeziumJsonDeserializationSchema(PRODUCT))
        .build()
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps() if with_watermarks else WatermarkStrategy.no_watermarks()
    changes = env.from_source(source, strategy, "changes").key_by(lambda row: row.id, Types.LONG())
    found: dict[int, str | None] = {}
    count = kills = 0
    with changes.process(LatestRow()).execute_and_collect() as results:
        for key, name, fits in results:  # those of a checkpoint come when it is complete
            assert fits, "a change is about the row that state has"
            found[key] = name
            count += 1
            if count == 100:
                os.kill(slot_pids()[0], signal.SIGKILL)
                kills += 1
    assert kills == 1
    assert count == rows
    assert {key: name for key, name in found.items() if name is not None} == table
