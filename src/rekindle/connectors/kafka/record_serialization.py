"""How records of a stream become records of Kafka: topic, key, value, headers, timestamp."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Self, cast

from rekindle.base.type_variables import IN, R, T
from rekindle.connectors.kafka.kafka_records import Headers, RecordBatch
from rekindle.exceptions import InvalidArgumentError, InvalidCallError
from rekindle.formats.schemas import SerializationSchema, SimpleStringSchema
from rekindle.runtime.at_work import at_record

Encode = Callable[[Sequence[Any]], list[bytes | None]]

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_BYTES_OR_NONE = frozenset({bytes, type(None)})


class KafkaTopicSelector(ABC, Generic[IN]):
    """Choose the topic of each record."""

    @abstractmethod
    def apply(self, data: IN) -> str:
        """Return the topic for a record."""


class KafkaRecordSerializationSchema(SerializationSchema[IN]):
    """Turn records of a stream into records of Kafka; made by a builder."""

    def __init__(
        self,
        topic: str | None,
        topic_selector: KafkaTopicSelector[IN] | None,
        key_schema: SerializationSchema[IN] | None,
        value_schema: SerializationSchema[IN],
        header_provider: Callable[[IN], Iterable[tuple[str, bytes | None]]] | None = None,
    ) -> None:
        self._topic = topic
        self._topic_selector = topic_selector
        self._key_schema = key_schema
        self._value_schema = value_schema
        self._header_provider = header_provider

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder[Any]:
        """Return a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    def serialize(self, element: IN) -> bytes:
        """Return the value of the record for an element."""
        return self._value_schema.serialize(element)


class KafkaRecordSerializationSchemaBuilder(Generic[T]):
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

    def set_topic(self, topic: str) -> Self:
        """Write all records to one topic.

        Raises:
            InvalidArgumentError: No topic can have that name.
        """
        require_topic(topic)
        self._topic, self._topic_selector = topic, None
        return self

    def set_topic_selector(self, topic_selector: Callable[[Any], str] | KafkaTopicSelector) -> Self:
        """Choose the topic of each record by a function, or by a :class:`KafkaTopicSelector`."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic_selector = topic_selector
        elif callable(topic_selector):
            self._topic_selector = _SelectorFunction(topic_selector)
        else:
            raise TypeError("topic_selector must be KafkaTopicSelector or a callable")
        self._topic = None
        return self

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema[Any]) -> Self:
        """Make the key of each record; without it records have none."""
        self._key_schema = _schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[R]
    ) -> KafkaRecordSerializationSchemaBuilder[R]:
        """Make the value of each record."""
        self._value_schema = _schema(value_serialization_schema, "set_value_serialization_schema")
        return cast(KafkaRecordSerializationSchemaBuilder[R], self)

    def set_header_provider(self, header_provider: Callable[[Any], Iterable[tuple[str, bytes | None]]]) -> Self:
        """Make the headers of each record, as pairs of a name and bytes. PyFlink has this in Java only."""
        self._header_provider = header_provider
        return self

    def build(self) -> KafkaRecordSerializationSchema[T]:
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
            messages(self._values, values, "values"),
            None if self._keys is None else messages(self._keys, values, "keys"),
            None if stamps is None else [stamp if stamp is not None and stamp > 0 else 0 for stamp in stamps],
            None if self._headers is None else self._all_headers(values),
        )

    @at_record(remaining="remaining")
    def _all_headers(self, values: list[Any]) -> list[Any]:
        assert self._headers is not None
        headers, remaining = self._headers, iter(values)
        return [_headers(headers(value)) for value in remaining]

    @at_record("value")
    def _by_topic(self, values: list[Any]) -> dict[str, list[int]]:
        assert self._select is not None
        topics: dict[str, list[int]] = {}
        for index, value in enumerate(values):
            topic = self._select(value)
            members = topics.get(topic)
            if members is None:
                if not isinstance(topic, str):
                    raise TypeError(f"a topic selector must return a string, and returned a {type(topic).__name__}")
                require_topic(topic)
                members = topics[topic] = []
            members.append(index)
        return topics


def chunk_encoding(schema: SerializationSchema[Any]) -> Encode:
    """Return a function that serializes a list of records by a schema."""
    if type(schema) is SimpleStringSchema:
        charset = schema._charset

        @at_record(remaining="remaining")
        def encode_all(values: Sequence[Any]) -> list[bytes | None]:
            remaining = iter(values)
            return [value.encode(charset) for value in remaining]

        return encode_all
    return schema.serialize_all  # type: ignore[return-value]  # a value may be None, which deletes a key


@at_record("value")
def messages(encode: Encode, values: Sequence[Any], what: str) -> list[bytes | None]:
    """Return what a schema makes of a chunk of records, checked while each record can still be named.

    What is not bytes would be found out when the checkpoint that holds it is committed, and then for ever.

    Args:
        encode: Serializes the records.
        values: The records.
        what: What it makes: keys, or values.

    Raises:
        TypeError: It makes something else than bytes.
        ValueError: It does not make one for each record.
    """
    made = list(encode(values))  # a schema may return what it was given, and the batch grows
    if len(made) != len(values):
        raise ValueError(f"the schema of Kafka's {what} made {len(made)} of {len(values)} records")
    if _BYTES_OR_NONE.issuperset(map(type, made)):
        return made
    found: list[bytes | None] = []
    for value, message in zip(values, made, strict=True):  # noqa: B007 (the decorator names it)
        found.append(_bytes(message, f"the schema of Kafka's {what} must make bytes, or None"))
    return found


def require_topic(topic: str) -> None:
    """Refuse names that no topic can have.

    Raises:
        InvalidArgumentError: It is such a name.
    """
    if not isinstance(topic, str) or _TOPIC.fullmatch(topic) is None or topic in (".", ".."):
        raise InvalidArgumentError(
            f"no topic of Kafka can have the name {topic!r}: names are 1 to 249 letters of ASCII, digits, '.', '_', '-'"
        )


def _headers(pairs: Iterable[tuple[str, bytes | None]]) -> Headers:
    found: Headers = []
    for name, content in pairs:
        if not isinstance(name, str):
            raise TypeError(f"the name of a header must be a string, and is a {type(name).__name__}")
        found.append((name, _bytes(content, f"the header {name!r} must be bytes, or None")))
    return found


def _bytes(message: Any, rule: str) -> bytes | None:
    if message is None or type(message) is bytes:
        return message
    if isinstance(message, bytes | bytearray | memoryview):
        return bytes(message)
    raise TypeError(f"{rule}, and this is a {type(message).__name__}")


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
