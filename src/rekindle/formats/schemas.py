"""How records become bytes for the outside world, and the other way round."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic

from rekindle.base.type_variables import IN, T
from rekindle.formats.line_format import Line, java_line, json_line
from rekindle.types.row import Row
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC, Generic[IN]):
    """Turn records into messages of bytes."""

    @abstractmethod
    def serialize(self, element: IN) -> bytes:
        """Return the message for a record."""

    def serialize_all(self, elements: Sequence[IN]) -> list[bytes]:
        """Return the messages for records, one for each: connectors call it once for each chunk of records."""
        return list(map(self.serialize, elements))


class DeserializationSchema(ABC, Generic[T]):
    """Turn messages of bytes into records."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T:
        """Return the record in a message."""

    def deserialize_all(self, messages: Sequence[bytes]) -> tuple[list[T], list[int] | None]:
        """Return the records in messages: connectors call it once for each chunk of messages.

        A message may hold any number of records. By default it holds the one that :meth:`deserialize` returns, or none
        if that is None.

        Returns:
            The records, in the order of their messages; and for each record the index of its message, so that it can
            be given that message's timestamp. None in place of the indices means that each message holds one record.
        """
        records = list(map(self.deserialize, messages))
        origins = [index for index, record in enumerate(records) if record is not None]
        if len(origins) == len(records):
            return records, None
        return [records[index] for index in origins], origins

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records; None if the schema does not know it."""
        return None

    def is_end_of_stream(self, next_element: T) -> bool:
        """Return whether this record says that no more will come."""
        return False


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    """Take strings as messages in a charset."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _known_charset(charset)

    @property
    def charset(self) -> str:
        """Return the charset, by Python's name."""
        return self._charset

    def serialize(self, element: str) -> bytes:
        """Return the string in the charset."""
        return element.encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        """Return the string in a message."""
        return bytes(message).decode(self._charset)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of strings."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[bytes | None], DeserializationSchema[bytes | None]):
    """Take bytes as messages, unchanged."""

    def serialize(self, element: bytes | None) -> bytes | None:  # type: ignore[override]  # None stays, as in Flink
        """Return the bytes; None for None."""
        return None if element is None else bytes(element)

    def deserialize(self, message: bytes | None) -> bytes | None:
        """Return the bytes; None for None."""
        return None if message is None else bytes(message)


class RowFieldExtractorSchema(SerializationSchema[Row | None]):
    """Take one field of a row, which must be bytes, as the message."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self._field_index = field_index

    def serialize(self, element: Row | None) -> bytes:
        """Return the field's bytes; empty where the field or the row is None.

        Raises:
            TypeError: The field holds something else.
        """
        value = None if element is None else element[self._field_index]
        if value is None:
            return b""
        if not isinstance(value, bytes | bytearray):
            raise TypeError(
                f"Field {self._field_index} of {element!r} is a {type(value).__name__}; "
                "turn it into bytes before it comes to RowFieldExtractorSchema."
            )
        return bytes(value)


class Encoder(ABC):
    """Turn records into bytes that a file sink appends to a file."""

    @abstractmethod
    def encode(self, value: Any, type_info: TypeInformation | None = None) -> bytes:
        """Return what to append for a record.

        Args:
            value: The record.
            type_info: The stream's type, ``None`` for a stream that was given none.
        """

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return the encoder that writes a line for each record.

        Records of a stream with one of PyFlink's types read as in Java: ``+I[a, 0]``. Of any other stream, strings are
        written as they are and records with fields as JSON, which ``spark.read.json`` reads.
        """
        return LineEncoder(java_line, charset_name)


class LineEncoder(Encoder):
    """Write a line for each record; by default strings as they are, and records with fields as JSON.

    Attributes:
        line: Gives the text of a record of a type.
        charset: The charset of the text.
    """

    def __init__(self, line: Line = json_line, charset_name: str = "UTF-8") -> None:
        self.line = line
        self.charset = _known_charset(charset_name)

    def encode(self, value: Any, type_info: TypeInformation | None = None) -> bytes:
        """Return the line of a record."""
        return f"{self.line(type_info, value)}\n".encode(self.charset)


def _known_charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise ValueError(f"Unknown charset {name!r}; use a name such as UTF-8 or ISO-8859-1.") from error
