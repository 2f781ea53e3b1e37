"""What stands for the serializer of a field that a class has no more: its values are passed over, unread."""

from __future__ import annotations

from typing import Any

from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_to_bytes
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot


class DroppedFieldSerializer(MsgpackSerializer[Any]):
    """Pass over values of a field that was removed. The classes they are of may be gone as well."""

    packed_type = Any

    def __init__(self, snapshot: TypeSerializerSnapshot[Any]) -> None:
        """Stand for a serializer.

        Args:
            snapshot: The snapshot of the serializer that wrote the values.
        """
        self._snapshot = snapshot
        super().__init__()

    def snapshot_configuration(self) -> TypeSerializerSnapshot[Any]:
        """Return the snapshot of the serializer that wrote the values."""
        return self._snapshot

    def _identity(self) -> tuple[Any, ...]:
        return (snapshot_to_bytes(self._snapshot),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot,)

    def __repr__(self) -> str:
        return f"DroppedFieldSerializer({self._name()})"
