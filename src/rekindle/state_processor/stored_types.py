"""The types of state in a snapshot: what they are called, and what reads them where their classes are not here."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any

from rekindle.exceptions import RekindleError, SerializationError
from rekindle.serialization.classes.fields_evolution import NamedFieldsSerializerSnapshot
from rekindle.serialization.encodings.stand_ins import stand_ins_for_missing_classes
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes
from rekindle.state.plain_values import RawBytes
from rekindle.state.state_serializers import PICKLED, UNUSED, StateSerializers, StoredSerializers
from rekindle.types.data_views import DataInputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

_MAGIC_BYTES = 5  # of a stored snapshot, before the name of its class


class RawSerializer(TypeSerializer[Any]):
    """Stand in for a serializer of the user that is not here: it gives the bytes."""

    takes_none = True

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Refuse: nobody knows how."""
        raise SerializationError("what is only known as bytes cannot be written as a value")

    def deserialize(self, stream: BytesIO) -> RawBytes:
        """Return all bytes that are left."""
        return RawBytes(stream.read())


def type_name(stored: bytes) -> str:
    """Name the type of which a serializer's snapshot is stored, without the classes of the user."""
    if not stored:
        return ""
    try:
        return _name(snapshot_from_bytes(stored))
    except RekindleError:
        return f"written by {_class_of(stored)}, which is not here"


def _name(snapshot: TypeSerializerSnapshot[Any]) -> str:
    if isinstance(snapshot, NamedFieldsSerializerSnapshot):
        fields = ", ".join(f"{name} {nested.describe()}" for name, nested in snapshot.fields.items())
        return f"{snapshot.describe()}({fields})"
    if type(snapshot).__name__ == "HintedSerializerSnapshot":
        assert isinstance(snapshot, CompositeTypeSerializerSnapshot)
        return _name(snapshot.get_nested_snapshots()[0])
    return snapshot.describe()


def _class_of(stored: bytes) -> str:
    try:
        source = DataInputView(stored)
        source.read_fully(_MAGIC_BYTES)
        return source.read_utf()
    except Exception:  # damaged: the message is about something else
        return "an unknown class"


def readable_serializer(stored: bytes) -> tuple[TypeSerializer[Any], str | None]:
    """Return what reads values of a stored type, and what is to be said about that; stand-ins are used where needed."""
    try:
        with stand_ins_for_missing_classes():
            return snapshot_from_bytes(stored).restore_serializer(), None
    except RekindleError as error:
        return RawSerializer(), str(error)


def readable_serializers(stored: StoredSerializers) -> tuple[StateSerializers, tuple[str, ...]]:
    """Return what reads a state, and what is to be said about it."""
    notes: list[str] = []
    serializers = StateSerializers(PICKLED.key, PICKLED.value, UNUSED, UNUSED)
    for part in ("key", "value", "map_key", "namespace"):
        data = getattr(stored, part)
        if data:
            serializer, note = readable_serializer(data)
            serializers = replace(serializers, **{part: serializer})
            if note is not None:
                notes.append(f"each {part.replace('_', ' ')} is shown as bytes: {note}")
    return serializers, tuple(notes)
