"""How messages become records: what programs implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple

from rekindle.base.type_variables import R, T, V
from rekindle.formats.schemas import DeserializationSchema
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

__all__ = ["KafkaRecord", "KafkaRecordDeserializationSchema"]


class KafkaRecord(NamedTuple):
    """A record as it is in Kafka.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The place in the partition.
        timestamp: Milliseconds since the epoch; negative where it has none.
        timestamp_type: 0: when it was created; 1: when it was appended to the log; -1: it has no timestamp.
        key: The key; None: it has none.
        value: The value; None: it says that the key is deleted.
        headers: The headers, in their order; names may repeat.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class KafkaRecordDeserializationSchema(ABC, Generic[T]):
    """Make a stream's records of Kafka's, with all that Kafka knows of them."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> T | None:
        """Return the record of the stream; None: there is none."""

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records; None: any Python object."""
        return None

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema[R]) -> KafkaRecordDeserializationSchema[R]:
        """Return the schema that takes only values, and skips records without one."""
        return ValueOnly(deserialization_schema)

    @staticmethod
    def key_and_value(
        key_schema: DeserializationSchema[R], value_schema: DeserializationSchema[V]
    ) -> KafkaRecordDeserializationSchema[tuple[R | None, V | None]]:
        """Return the schema that makes pairs of a key and a value, each by a schema of its own.

        A record without a key, or without a value, has None there.

        Args:
            key_schema: What turns keys into the first of each pair.
            value_schema: What turns values into the second.
        """
        return KeyAndValue(key_schema, value_schema)


class ValueOnly(KafkaRecordDeserializationSchema[Any]):
    """Take only values.

    Attributes:
        schema: What they become.
    """

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        self.schema = _schema(schema)

    def deserialize(self, record: KafkaRecord) -> Any:
        """Return what the value becomes."""
        return None if record.value is None else self.schema.deserialize(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type that the schema names."""
        return self.schema.get_produced_type()


class KeyAndValue(KafkaRecordDeserializationSchema[Any]):
    """Take keys and values.

    Attributes:
        key_schema: What keys become.
        value_schema: What values become.
    """

    def __init__(self, key_schema: DeserializationSchema[Any], value_schema: DeserializationSchema[Any]) -> None:
        self.key_schema = _schema(key_schema)
        self.value_schema = _schema(value_schema)

    def deserialize(self, record: KafkaRecord) -> tuple[Any, Any]:
        """Return what key and value become."""
        key = None if record.key is None else self.key_schema.deserialize(record.key)
        return key, None if record.value is None else self.value_schema.deserialize(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of pairs, if both schemas name theirs."""
        key, value = self.key_schema.get_produced_type(), self.value_schema.get_produced_type()
        if key is None or value is None:
            return None
        return Types.TUPLE([NullableTypeInfo(key), NullableTypeInfo(value)])


def _schema(schema: Any) -> DeserializationSchema[Any]:
    if not isinstance(schema, DeserializationSchema):
        raise TypeError(f"keys and values of Kafka are read by a DeserializationSchema, and {schema!r} was given")
    return schema
