"""Kafka records as Arrow tables, and a Kafka source that reads them in one process, without Spark or a broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from rekindle.connectors.kafka.record_decoders import SOURCE_KIND, decoder_of
from rekindle.connectors.kafka.record_deserialization import KafkaRecordDeserializationSchema
from rekindle.connectors.spark_source import SparkSource
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.formats.schemas import SimpleStringSchema
from rekindle.graph.transformations.split_sources import SplitRecordsTransformation
from rekindle.testing.in_process.arrow_frames import ArrowFrame

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)

Message = tuple[bytes | None, int]
"""A value and its timestamp, in milliseconds."""


def read(partition: int, messages: Iterable[Message], topic: str = "t", offset: int = 0) -> pa.RecordBatch:
    """Return what a task reads from a partition."""
    rows = [
        {
            "key": None,
            "value": value,
            "topic": topic,
            "partition": partition,
            "offset": offset + place,
            "timestamp": stamp * 1000,
            "timestampType": 0,
            "headers": None,
        }
        for place, (value, stamp) in enumerate(messages)
    ]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def epoch(*tasks: pa.RecordBatch) -> pa.Table:
    """Return what an epoch reads."""
    return pa.Table.from_batches(tasks, SCHEMA)


class KafkaTables(SparkSource):
    """A KafkaSource whose records are in tables, one for each epoch; each Arrow batch is what a task reads."""

    makes_watermarks = True

    def __init__(self, epochs: Sequence[pa.Table], schema: KafkaRecordDeserializationSchema[Any] | None = None) -> None:
        self._epochs = epochs
        self._schema = schema or KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())

    @property
    def kind(self) -> str:
        return SOURCE_KIND

    @property
    def bounded(self) -> bool:
        return True

    def frame(self) -> Any:
        return ArrowFrame(list(self._epochs), "kafka")

    def transformation(self, strategy: WatermarkStrategy | None) -> SplitRecordsTransformation:
        return SplitRecordsTransformation(decoder_of(self._schema), strategy)
