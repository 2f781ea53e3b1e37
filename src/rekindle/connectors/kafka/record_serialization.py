"""How records of a stream become records of Kafka: topic, key, value, headers, timestamp."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rekindle.connectors.kafka.kafka_records import Headers, RecordBatch
from rekindle.exceptions import InvalidArgumentError, InvalidCallError
from rekindle.formats.schemas import SerializationSchema, SimpleStringSchema

Encode = Callable[[Sequence[Any]], list[bytes | None]]


class KafkaTopicSelector(ABC):
    """Choose the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic for a record."""


class KafkaRecordSerializationSchema(SerializationSchema[Any]):
    """Turn records of a stream into records of Kafka; made by a builder."""

    def __init__(
        self,
        topic: str | None,
        topic_selector: KafkaTopicSelector | None,
        key_schema: SerializationSchema[Any] | None,
        value_schema: SerializationSchema[Any],
        header_provider: Callable[[Any], Iterable[tuple[str, bytes | None]]] | None = None,
    ) -> None:
        self._topic = topic
        self._topic_selector = topic_selector
        self._key_schema = key_schema
        self._value_schema = value_schema
        self._header_provider = header_provider

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    def serialize(self, element: Any) -> bytes:
        """Return the value of the record for an element."""
        return self._value_schema.serialize(element)


class KafkaRecordSerializationSchemaBuilder:
    """Build a :class:`KafkaRecordSerializationSchema`: with a topic or a topic selector, and a schema for values.

    Example::

        KafkaRecordSerializationSchema.builder() \\
            .set_topic("results") \\
            .set_value_serialization_schema(SimpleStringSchema()) \\
            .build()
    """

    def __init__(self) -> None:
        self._topic: str | None = None
        self._topic_selector: KafkaTopicSelector | None = None
        self._key_schema: SerializationSchema[Any] | None = None
        self._value_schema: SerializationSchema[Any] | None = None
        self._header_provider: Callable[[Any], Iterable[tuple[str, bytes | None]]] | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic."""
        self._topic, self._topic_selector = topic, None
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record by a function, or by a :class:`KafkaTopicSelector`."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic_selector = topic_selector
        elif callable(topic_selector):
            self._topic_selector = _SelectorFunction(topic_selector)
        else:
            raise TypeError("topic_selector must be KafkaTopicSelector or a callable")
        self._topic = None
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make the key of each record; without it records have none."""
        self._key_schema = _schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make the value of each record."""
        self._value_schema = _schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def set_header_provider(
        self, header_provider: Callable[[Any], Iterable[tuple[str, bytes | None]]]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make the headers of each record, as pairs of a name and bytes. PyFlink has this in Java only."""
        self._header_provider = header_provider
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema.

        Raises:
            InvalidArgumentError: There is no topic, or no schema for values.
        """
        if self._topic is None and self._topic_selector is None:
            raise InvalidArgumentError(
                "a KafkaRecordSerializationSchema needs a topic: call set_topic or set_topic_selector"
            )
        if self._value_schema is None:
            raise InvalidArgumentError(
                "a KafkaRecordSerializationSchema needs a schema for values: call set_value_serialization_schema"
            )
        return KafkaRecordSerializationSchema(
            self._topic, self._topic_selector, self._key_schema, self._value_schema, self._header_provider
        )


class ChunkSerialization:
    """Serialize chunks of records by a schema.

    Args:
        schema: What the program said.
        with_timestamps: Whether the records' timestamps become those of Kafka.
    """

    def __init__(self, schema: KafkaRecordSerializationSchema, with_timestamps: bool = True) -> None:
        self._topic = schema._topic
        self._select = None if schema._topic_selector is None else schema._topic_selector.apply
        self._keys = None if schema._key_schema is None else chunk_encoding(schema._key_schema)
        self._values = chunk_encoding(schema._value_schema)
        self._headers = schema._header_provider
        self._with_timestamps = with_timestamps

    def __call__(self, values: list[Any], timestamps: list[int | None] | None) -> list[RecordBatch]:
        """Return the records of a chunk, in one batch for each topic."""
        stamps = timestamps if self._with_timestamps else None
        if self._topic is not None:
            return [self._batch(self._topic, values, stamps)]
        batches = []
        for topic, members in self._by_topic(values).items():
            chosen = [values[index] for index in members]
            batches.append(self._batch(topic, chosen, None if stamps is None else [stamps[i] for i in members]))
        return batches

    def _batch(self, topic: str, values: list[Any], stamps: list[int | None] | None) -> RecordBatch:
        return RecordBatch(
            topic,
            self._values(values),
            None if self._keys is None else self._keys(values),
            None if stamps is None else [stamp if stamp is not None and stamp > 0 else 0 for stamp in stamps],
            None if self._headers is None else [_headers(self._headers(value)) for value in values],
        )

    def _by_topic(self, values: list[Any]) -> dict[str, list[int]]:
        assert self._select is not None
        topics: dict[str, list[int]] = {}
        for index, value in enumerate(values):
            topic = self._select(value)
            members = topics.get(topic)
            if members is None:
                if not isinstance(topic, str):
                    raise TypeError(f"a topic selector must return a string, and returned a {type(topic).__name__}")
                members = topics[topic] = []
            members.append(index)
        return topics


def chunk_encoding(schema: SerializationSchema[Any]) -> Encode:
    """Return a function that serializes a list of records by a schema."""
    if type(schema) is SimpleStringSchema:
        charset = schema._charset
        return lambda values: [value.encode(charset) for value in values]
    return schema.serialize_all  # type: ignore[return-value]  # a value may be None, which deletes a key


def _headers(pairs: Iterable[tuple[str, bytes | None]]) -> Headers:
    return [(name, None if value is None else bytes(value)) for name, value in pairs]


def _schema(schema: Any, method: str) -> SerializationSchema[Any]:
    if not isinstance(schema, SerializationSchema):
        raise InvalidCallError(f"{method} takes a SerializationSchema, and was given a {type(schema).__name__}")
    return schema


class _SelectorFunction(KafkaTopicSelector):
    """Choose topics by a function."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def apply(self, data: Any) -> str:
        return self._function(data)
