"""The interface of serializers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Turn elements of a type into bytes and back. Equal when class and attributes are equal."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write an element to a stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read an element from a stream."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Serialize the one namespace of state without windows: to nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Return empty bytes."""
        return b""
