"""Serializers, their snapshots, and how state follows when its type changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rekindle.exceptions import SerializationError, SerializerSnapshotError, StateMigrationException
from rekindle.serialization.array_serializers import GenericArraySerializer
from rekindle.serialization.composite_snapshot import CompositeTypeSerializerSnapshot, OuterSchemaCompatibility
from rekindle.serialization.enum_serializer import EnumSerializer
from rekindle.serialization.nullable_serializer import NullableSerializer
from rekindle.serialization.pickle_serializer import PickleSerializer
from rekindle.serialization.simple_snapshot import SimpleTypeSerializerSnapshot
from rekindle.serialization.snapshot_aliases import register_snapshot_alias
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from rekindle.serialization.avro_serializer import AvroSerializer
    from rekindle.serialization.dataclass_serializer import DataclassSerializer
    from rekindle.serialization.struct_serializer import StructSerializer

__all__ = [
    "AvroSerializer",
    "CompositeTypeSerializerSnapshot",
    "DataInputView",
    "DataOutputView",
    "DataclassSerializer",
    "EnumSerializer",
    "GenericArraySerializer",
    "NullableSerializer",
    "OuterSchemaCompatibility",
    "PickleSerializer",
    "SerializationError",
    "SerializerSnapshotError",
    "SimpleTypeSerializerSnapshot",
    "StateMigrationException",
    "StructSerializer",
    "TypeSerializer",
    "TypeSerializerSchemaCompatibility",
    "TypeSerializerSnapshot",
    "register_snapshot_alias",
]

# These reach for rekindle.common, which is made of this package: they are imported when somebody asks for them.
_LATER = {
    "AvroSerializer": "avro_serializer",
    "DataclassSerializer": "dataclass_serializer",
    "StructSerializer": "struct_serializer",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
