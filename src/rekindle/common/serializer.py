"""The interface of serializers."""

from __future__ import annotations

from io import BytesIO

from rekindle.types.type_serializer import TypeSerializer

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Serialize the one namespace of state without windows: to nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Return empty bytes."""
        return b""
