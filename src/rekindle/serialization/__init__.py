"""Serializers, their snapshots, and how state follows when its type changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rekindle.serialization.serializers_by_type  # noqa: F401 - so that every type has its serializer
from rekindle.exceptions import SerializationError, SerializerSnapshotError, StateMigrationException
from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.classes.enum_serializer import EnumSerializer
from rekindle.serialization.classes.struct_serializer import StructSerializer
from rekindle.serialization.composites.array_serializers import GenericArraySerializer
from rekindle.serialization.composites.nullable_serializer import NullableSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.snapshots.composite_snapshot import (
    CompositeTypeSerializerSnapshot,
    OuterSchemaCompatibility,
)
from rekindle.serialization.snapshots.simple_snapshot import SimpleTypeSerializerSnapshot
from rekindle.serialization.snapshots.snapshot_aliases import register_snapshot_alias
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from rekindle.serialization.avro.avro_serializer import AvroSerializer

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


def __getattr__(name: str) -> Any:
    if name != "AvroSerializer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rekindle.serialization.avro.avro_serializer import AvroSerializer  # fastavro: most programs do without

    return AvroSerializer
