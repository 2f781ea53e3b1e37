"""Rows become records: strings by columns, others by their schema, whole records with all that Kafka knows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.shapes import Shape
from rekindle.common import Row, Types, WatermarkStrategy
from rekindle.connectors.kafka.record_decoders import BytesDecoder, StringDecoder, ValueDecoder, decoder_of
from rekindle.connectors.kafka.record_serialization import ChunkSerialization, KafkaRecordSerializationSchema
from rekindle.datastream import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.connectors.kafka import KafkaRecord, KafkaRecordDeserializationSchema
from rekindle.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from rekindle.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from rekindle.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import JobExecutionError, UserCodeError
from rekindle.formats.schemas import ByteArraySchema, DeserializationSchema, SerializationSchema, SimpleStringSchema
from rekindle.graph.job_graph import JobEdge
from rekindle.graph.partitioning import Partitioner, Partitioning
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.payload import decode_all
from rekindle.runtime.exchange.writers import HashWriter
from rekindle.testing import local_environment
from support.kafka_tables import SCHEMA, KafkaTables, epoch, read

value_only = KafkaRecordDeserializationSchema.value_only
key_and_value = KafkaRecordDeserializationSchema.key_and_value


class Json(DeserializationSchema[Any]):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


class Whole(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: KafkaRecord) -> Any:
        return None if record.key == b"skipped" else record


def chunk_of(batch: pa.RecordBatch) -> ColumnChunk:
    return ColumnChunk(batch.columns, Shape.row(batch.schema.names))


def test_strings_come_as_a_column_with_the_timestamps_of_kafka() -> None:
    decoder = decoder_of(value_only(SimpleStringSchema()))
    records = decoder.decode(chunk_of(read(0, [(b"a", 5), ("ä€😀".encode(), 6), (b"", 7)])))
    assert isinstance(decoder, StringDecoder)
    assert records.columnar
    assert (records.values, records.timestamps) == (["a", "ä€😀", ""], [5, 6, 7])


@pytest.mark.parametrize("schema", [SimpleStringSchema(), ByteArraySchema(), Json()])
def test_records_without_a_value_are_skipped(schema: DeserializationSchema[Any]) -> None:
    records = decoder_of(value_only(schema)).decode(chunk_of(read(0, [(None, 1), (b"7", 2), (None, 3), (b"8", 4)])))
    assert [str(value).strip("b'") for value in records.values] == ["7", "8"]
    assert records.timestamps == [2, 4]


def test_nothing_but_deleted_keys_leaves_nothing() -> None:
    records = decoder_of(value_only(SimpleStringSchema())).decode(chunk_of(read(0, [(None, 1), (None, 2)])))
    assert (records.size(), records.values, records.timestamps) == (0, [], [])


def test_what_is_no_utf_8_is_replaced_as_in_java() -> None:
    records = decoder_of(value_only(SimpleStringSchema())).decode(chunk_of(read(0, [(b"a\xff", 1), (b"b", 2)])))
    assert records.values == ["a�", "b"]


def test_other_charsets_and_schemas_decode_one_by_one() -> None:
    latin = decoder_of(value_only(SimpleStringSchema("ISO-8859-1")))
    assert isinstance(latin, ValueDecoder)
    assert latin.decode(chunk_of(read(0, [(b"\xe4", 1)]))).values == ["ä"]
    assert isinstance(decoder_of(value_only(ByteArraySchema())), BytesDecoder)
    assert decoder_of(value_only(Json())).decode(chunk_of(read(0, [(b"null", 1), (b"[1]", 2)]))).values == [[1]]


def test_a_whole_record_has_key_headers_and_place() -> None:
    row = {
        "key": b"k",
        "value": None,
        "topic": "t",
        "partition": 3,
        "offset": 41,
        "timestamp": 123_456_000,
        "timestampType": 1,
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
    }
    skipped = row | {"key": b"skipped"}
    batch = pa.RecordBatch.from_pylist([skipped, row, row | {"headers": None}], SCHEMA)
    records = decoder_of(Whole()).decode(chunk_of(batch))
    expected = KafkaRecord("t", 3, 41, 123_456, 1, b"k", None, (("h", b"1"), ("h", None)))
    assert records.values == [expected, expected._replace(headers=())]
    assert records.timestamps == [123_456, 123_456]


ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.LONG()])
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Pair",
        "fields": [{"name": "name", "type": "string"}, {"name": "number", "type": "long"}],
    }
)
FORMATS: dict[str, tuple[SerializationSchema[Any], DeserializationSchema[Any]]] = {
    "JSON": (
        JsonRowSerializationSchema.builder().with_type_info(ROW).build(),
        JsonRowDeserializationSchema.builder().type_info(ROW).build(),
    ),
    "CSV": (CsvRowSerializationSchema.Builder(ROW).build(), CsvRowDeserializationSchema.Builder(ROW).build()),
    "Avro": (
        AvroRowSerializationSchema(avro_schema_string=AVRO),
        AvroRowDeserializationSchema(avro_schema_string=AVRO),
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_rows_come_back_from_keys_and_values_in_each_format(name: str) -> None:
    writing, reading = FORMATS[name]
    rows = [Row(name=f"n{number}", number=number) for number in range(3)]
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    schema = builder.set_key_serialization_schema(writing).set_value_serialization_schema(writing).build()
    (batch,) = ChunkSerialization(schema)(rows, None)
    stored = [
        {"key": key, "value": value, "timestamp": 1000}
        for key, value in zip(batch.keys or (), batch.values, strict=True)
    ]
    chunk = chunk_of(pa.RecordBatch.from_pylist(stored, SCHEMA))
    assert decoder_of(value_only(reading)).decode(chunk).values == rows
    assert decoder_of(key_and_value(reading, reading)).decode(chunk).values == [(row, row) for row in rows]


class Letters(DeserializationSchema[str]):
    """Make a record of each letter of a message."""

    def deserialize(self, message: bytes) -> str:
        raise AssertionError("deserialize_all is called")

    def deserialize_all(self, messages: Sequence[bytes]) -> tuple[list[str], list[int] | None]:
        found = [(letter, place) for place, message in enumerate(messages) for letter in message.decode()]
        return [letter for letter, _ in found], [place for _, place in found]


def test_keys_and_values_make_pairs_also_where_one_of_them_is_missing() -> None:
    schema = key_and_value(SimpleStringSchema(), Letters())
    pairs = [(b"k", b"ab"), (None, b"c"), (b"deleted", None), (b"empty", b""), (b"l", b"d")]
    stored = [{"key": key, "value": value, "timestamp": place * 1000} for place, (key, value) in enumerate(pairs)]
    records = decoder_of(schema).decode(chunk_of(pa.RecordBatch.from_pylist(stored, SCHEMA)))
    assert records.values == [("k", "a"), ("k", "b"), (None, "c"), ("deleted", None), ("l", "d")]
    assert records.timestamps == [0, 0, 1, 2, 4]


def test_pairs_have_a_type_with_which_they_cross_exchanges() -> None:
    schema = key_and_value(SimpleStringSchema(), SimpleStringSchema())
    stored = [{"key": key, "value": b"v", "topic": "t", "partition": 0, "timestamp": 0} for key in (b"k", None)]
    table = epoch(pa.RecordBatch.from_pylist(stored, SCHEMA))
    stream = local_environment(2).from_source(KafkaTables([table], schema), WatermarkStrategy.no_watermarks(), "kafka")
    with stream.key_by(lambda pair: pair[1]).map(lambda pair: pair).execute_and_collect() as results:
        assert sorted(results, key=str) == [("k", "v"), (None, "v")]
    assert key_and_value(SimpleStringSchema(), Json()).get_produced_type() is None


@pytest.mark.parametrize(
    ("strategy", "operator"),
    [
        (WatermarkStrategy.no_watermarks(), "orders"),
        (WatermarkStrategy.for_monotonous_timestamps(), "orders (records)"),
    ],
)
def test_a_deserializer_that_raises_is_named_with_its_message(strategy: WatermarkStrategy, operator: str) -> None:
    env = local_environment()
    messages = [(b"1", 1), (b"{broken", 2)]
    source = KafkaTables([epoch(read(0, messages))], value_only(Json()))
    env.from_source(source, strategy, "orders").print()
    with pytest.raises(JobExecutionError) as raised:
        env.execute()
    error = raised.value.__cause__
    assert isinstance(error, UserCodeError)
    assert (error.operator, error.record) == (operator, "record b'{broken'")
    assert "JSONDecodeError" in error.summary


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, ctx.get_current_key(), self.seen.value(), ctx.timestamp()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("key", [len, lambda value: value[0], lambda value: (value, 1)])
def test_strings_are_the_same_behind_an_exchange_whatever_their_key(parallelism: int, key: Any) -> None:
    words = ["ä", "ab", "b€", "😀", "ab", "x" * 1000, "b"] * 7
    env = local_environment(parallelism)
    table = epoch(read(0, [(word.encode(), place) for place, word in enumerate(words)]))
    stream = env.from_source(KafkaTables([table]), WatermarkStrategy.no_watermarks(), "kafka").key_by(key)
    with stream.process(Numbered()).execute_and_collect() as results:
        found = sorted(results, key=lambda result: result[3])
    counts: Counter[Any] = Counter()
    expected = []
    for place, word in enumerate(words):
        counts[key(word)] += 1
        expected.append((word, key(word), counts[key(word)], place))
    assert found == expected


def test_strings_cross_an_exchange_as_a_column() -> None:
    edge = JobEdge(0, 0, 1, 0, Partitioner(Partitioning.HASH, lambda value: value), True, Types.STRING())
    chunk = StringDecoder().decode(chunk_of(read(0, [(b"a", 1), (b"b", 2)])))
    (envelope,) = HashWriter(edge, 1, KeyRoutes(1, 128), "next", EdgeSerializers.of([edge])[0]).write(chunk)
    (received,) = decode_all(bytearray(envelope[2]))
    assert isinstance(received, ColumnChunk)
    assert (received.values, received.keys, received.timestamps) == (["a", "b"], ["a", "b"], [1, 2])
