"""What a serializer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Generic

import msgspec

from rekindle.base.type_variables import T
from rekindle.exceptions import SerializationError
from rekindle.types.data_views import DataInputView, DataOutputView

if TYPE_CHECKING:
    from rekindle.types.serializer_snapshot import TypeSerializerSnapshot

__all__ = ["BytesSerializer", "TypeSerializer"]

_encode = msgspec.msgpack.Encoder().encode
_decode_frames = msgspec.msgpack.Decoder(list[bytes]).decode


class TypeSerializer(ABC, Generic[T]):
    """Turn elements of a type into bytes and back. Equal when class and attributes are equal.

    A custom serializer implements :meth:`serialize`, :meth:`deserialize` and :meth:`snapshot_configuration`. The
    streams it gets are a :class:`DataOutputView` and a :class:`DataInputView`.

    Attributes:
        takes_none: Whether None is an element, besides those of the type.
        always_readable: Whether it reads back whatever it wrote: no code of the user's runs in between.
        doubtful: What is in the bytes of every element that might turn out not to be readable; empty if it may be any.
    """

    takes_none: bool = False
    always_readable: bool = False
    doubtful: bytes = b""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write an element to a stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read an element from a stream."""

    def snapshot_configuration(self) -> TypeSerializerSnapshot[T]:
        """Return what has to be known of this serializer to read, years later, what it writes today."""
        raise SerializationError(
            f"{type(self).__name__} cannot be used for state: it has no snapshot_configuration(). Let it return a "
            "TypeSerializerSnapshot, such as a subclass of SimpleTypeSerializerSnapshot"
        )

    def is_immutable_type(self) -> bool:
        """Return whether elements never change, so that they need not be copied."""
        return False

    def duplicate(self) -> TypeSerializer[T]:
        """Return a serializer that may be used at the same time as this one: itself, if it keeps nothing."""
        return self

    def create_instance(self) -> Any:
        """Return an empty element; None where there is no such thing."""
        return None

    def copy(self, element: T) -> T:
        """Return an element that is equal, and that nobody else changes."""
        return element if self.is_immutable_type() else self.from_bytes(self.to_bytes(element))

    def get_length(self) -> int:
        """Return the number of bytes of every element; -1 where they differ."""
        return -1

    # --- whole elements, and many at once: what state backends and exchanges call ---

    def to_bytes(self, element: T) -> bytes:
        """Return an element as bytes."""
        stream = DataOutputView()
        self.serialize(element, stream)
        return stream.getvalue()

    def to_readable_bytes(self, element: T) -> bytes:
        """Return an element as bytes that were read back, for what is to be restored from them one day.

        Raises:
            SerializationError: It cannot be written, or not be read back.
        """
        data = self.to_bytes(element)
        if not self.always_readable and self.doubtful in data:
            try:
                self.from_bytes(data)
            except Exception as error:
                raise SerializationError(
                    f"an element ({type(element).__name__}) was written and cannot be read back: "
                    f"{error if isinstance(error, SerializationError) else f'{type(error).__name__}: {error}'}"
                ) from error
        return data

    def from_bytes(self, data: bytes | memoryview) -> T:
        """Return the element that :meth:`to_bytes` made these bytes of."""
        return self.deserialize(DataInputView(data))

    def all_to_bytes(self, elements: Sequence[T]) -> bytes:
        """Return many elements as bytes."""
        return _encode(list(map(self.to_bytes, elements)))

    def all_from_bytes(self, data: bytes | memoryview) -> list[T]:
        """Return the elements that :meth:`all_to_bytes` made these bytes of."""
        try:
            frames = _decode_frames(data)
        except msgspec.MsgspecError as error:
            raise SerializationError(f"{len(data)} bytes are not elements of {self!r}: {error}") from error
        return list(map(self.from_bytes, frames))

    def converted(self, elements: list[T]) -> list[T]:
        """Return elements as they are after a way through bytes: with their numbers wrapped and rounded."""
        return self.all_from_bytes(self.all_to_bytes(elements))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class BytesSerializer(TypeSerializer[T]):
    """Serialize whole elements; in a stream their length stands before them."""

    @abstractmethod
    def to_bytes(self, element: T) -> bytes:
        """Return an element as bytes."""

    @abstractmethod
    def from_bytes(self, data: bytes | memoryview) -> T:
        """Return the element that :meth:`to_bytes` made these bytes of."""

    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write an element to a stream."""
        data = self.to_bytes(element)
        stream.write(len(data).to_bytes(4, "big"))
        stream.write(data)

    def deserialize(self, stream: BytesIO) -> T:
        """Read an element from a stream."""
        size = int.from_bytes(_read(stream, 4), "big")
        return self.from_bytes(_read(stream, size))


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise SerializationError(f"the stream ended after {len(data)} bytes where {size} were expected")
    return data
