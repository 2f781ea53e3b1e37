"""Records of a stream become Kafka's by topic, key, value, headers and timestamp, a chunk at a time."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import SerializationSchema, SimpleStringSchema
from rekindle.connectors.kafka.kafka_records import RecordBatch
from rekindle.connectors.kafka.record_serialization import ChunkSerialization
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaTopicSelector
from rekindle.exceptions import InvalidArgumentError, InvalidCallError


class Second(SerializationSchema):
    def serialize(self, element: tuple[str, int]) -> bytes | None:
        return None if element[1] < 0 else str(element[1]).encode()


class First(SerializationSchema):
    def serialize(self, element: tuple[str, int]) -> bytes:
        return element[0].encode()


def serialized(builder: Any, values: list, timestamps: list | None = None, **options: Any) -> list[RecordBatch]:
    return ChunkSerialization(builder.build(), **options)(values, timestamps)


def pairs() -> Any:
    builder = KafkaRecordSerializationSchema.builder().set_key_serialization_schema(First())
    return builder.set_value_serialization_schema(Second())


def test_strings_are_encoded_in_their_charset() -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    latin = builder.set_value_serialization_schema(SimpleStringSchema("ISO-8859-1"))
    assert serialized(latin, ["ä", "b"]) == [RecordBatch("t", [b"\xe4", b"b"])]


def test_keys_and_values_have_schemas_of_their_own_and_a_value_may_be_missing() -> None:
    found = serialized(pairs().set_topic("t"), [("a", 1), ("b", -1)])
    assert found == [RecordBatch("t", [b"1", None], [b"a", b"b"])]


@pytest.mark.parametrize("kind", ["function", "class"])
def test_a_selector_chooses_topics_and_order_stays_within_each(kind: str) -> None:
    class Selector(KafkaTopicSelector):
        def apply(self, data: tuple[str, int]) -> str:
            return f"topic-{data[0]}"

    selector = Selector() if kind == "class" else lambda pair: f"topic-{pair[0]}"
    found = serialized(pairs().set_topic_selector(selector), [("a", 1), ("b", 2), ("a", 3)], [10, 20, None])
    assert found == [
        RecordBatch("topic-a", [b"1", b"3"], [b"a", b"a"], [10, 0]),
        RecordBatch("topic-b", [b"2"], [b"b"], [20]),
    ]


def test_timestamps_are_kept_if_kafka_takes_them() -> None:
    values = [("a", 1), ("b", 2), ("c", 3)]
    [batch] = serialized(pairs().set_topic("t"), values, [-5, None, 1_700_000_000_000])
    assert batch.timestamps == [0, 0, 1_700_000_000_000]
    [batch] = serialized(pairs().set_topic("t"), values, [1, 2, 3], with_timestamps=False)
    assert batch.timestamps is None


def test_headers_come_from_a_function() -> None:
    found = serialized(pairs().set_topic("t").set_header_provider(lambda pair: [("n", b"1"), ("m", None)]), [("a", 1)])
    assert found[0].headers == [[("n", b"1"), ("m", None)]]


def test_a_topic_and_a_schema_for_values_are_required() -> None:
    with pytest.raises(InvalidArgumentError, match="set_topic"):
        pairs().build()
    with pytest.raises(InvalidArgumentError, match="set_value_serialization_schema"):
        KafkaRecordSerializationSchema.builder().set_topic("t").build()
    with pytest.raises(InvalidCallError, match="SerializationSchema"):
        KafkaRecordSerializationSchema.builder().set_value_serialization_schema(str)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callable"):
        KafkaRecordSerializationSchema.builder().set_topic_selector("t")  # type: ignore[arg-type]


def test_a_selector_that_returns_no_string_is_named() -> None:
    with pytest.raises(TypeError, match="returned a int"):
        serialized(pairs().set_topic_selector(lambda pair: pair[1]), [("a", 1)])


class Made(SerializationSchema):
    """Make the same of every record."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def serialize(self, element: Any) -> Any:
        return self.message


@pytest.mark.parametrize("message", ["text", 3, [1, 2]])
def test_what_is_not_bytes_is_refused_before_it_is_in_a_checkpoint(message: Any) -> None:
    """A committable that cannot be read back would fail the job after every restart."""
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    with pytest.raises(TypeError, match="values must make bytes, or None, and this is a"):
        serialized(builder.set_value_serialization_schema(Made(message)), ["a"])
    builder.set_value_serialization_schema(Made(b"")).set_key_serialization_schema(Made(message))
    with pytest.raises(TypeError, match="keys must make bytes, or None, and this is a"):
        serialized(builder, ["a"])


@pytest.mark.parametrize("message", [bytearray(b"m"), memoryview(b"m")])
def test_other_kinds_of_bytes_become_bytes(message: Any) -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    found = serialized(builder.set_value_serialization_schema(Made(message)), ["a"])
    assert found == [RecordBatch("t", [b"m"])]
    assert type(found[0].values[0]) is bytes


def test_a_schema_makes_one_message_of_each_record() -> None:
    class Few(Made):
        def serialize_all(self, elements: Any) -> list[bytes]:
            return [b"one"]

    builder = KafkaRecordSerializationSchema.builder().set_topic("t").set_value_serialization_schema(Few(b""))
    with pytest.raises(ValueError, match="made 1 of 2 records"):
        serialized(builder, ["a", "b"])


@pytest.mark.parametrize("header", [(b"name", b""), ("name", "text"), ("name", 5)])
def test_headers_that_kafka_does_not_take_are_refused(header: Any) -> None:
    builder = pairs().set_topic("t").set_header_provider(lambda pair: [header])
    with pytest.raises(TypeError, match="header"):
        serialized(builder, [("a", 1)])


@pytest.mark.parametrize("topic", ["", ".", "a b", "a/b", "ä", "t" * 250])
def test_names_that_no_topic_can_have_are_refused(topic: str) -> None:
    with pytest.raises(InvalidArgumentError, match="no topic of Kafka can have the name"):
        KafkaRecordSerializationSchema.builder().set_topic(topic)
    with pytest.raises(InvalidArgumentError, match="no topic of Kafka can have the name"):
        serialized(pairs().set_topic_selector(lambda pair: topic), [("a", 1)])


def test_a_schema_may_return_the_records_themselves() -> None:
    class Same(Made):
        def serialize_all(self, elements: Any) -> list[bytes]:
            return elements

    builder = KafkaRecordSerializationSchema.builder().set_topic("t").set_value_serialization_schema(Same(b""))
    builder.set_key_serialization_schema(Same(b""))
    chunks = [[b"a"], [b"b"]]
    first, second = (serialized(builder, chunk)[0] for chunk in chunks)
    first.append(second)
    assert first == RecordBatch("t", [b"a", b"b"], [b"a", b"b"])
    assert chunks == [[b"a"], [b"b"]]
