"""How messages become records: what programs implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from rekindle.formats.schemas import DeserializationSchema
from rekindle.types.type_information import TypeInformation

__all__ = ["KafkaRecord", "KafkaRecordDeserializationSchema"]

T = TypeVar("T")


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
    def value_only(deserialization_schema: DeserializationSchema[Any]) -> KafkaRecordDeserializationSchema[Any]:
        """Return the schema that takes only values, and skips records without one."""
        return ValueOnly(deserialization_schema)


class ValueOnly(KafkaRecordDeserializationSchema[Any]):
    """Take only values.

    Attributes:
        schema: What they become.
    """

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise TypeError(f"a value-only deserializer is a DeserializationSchema, and {schema!r} was given")
        self.schema = schema

    def deserialize(self, record: KafkaRecord) -> Any:
        """Return what the value becomes."""
        return None if record.value is None else self.schema.deserialize(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type that the schema names."""
        return self.schema.get_produced_type()
