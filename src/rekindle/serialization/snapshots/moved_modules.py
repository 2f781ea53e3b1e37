"""Where modules are now that state may name: snapshots of serializers, and pickles, know classes by their modules."""

from __future__ import annotations

import io
import pickle
from typing import Any

_MOVED = {
    ("rekindle.serialization", "rekindle.types"): (
        "compatibility",
        "data_views",
        "serializer_snapshot",
        "type_serializer",
    ),
    ("rekindle.datastream.windowing", "rekindle.contracts.windowing"): (
        "assigner",
        "continuous_triggers",
        "count_assigners",
        "evictors",
        "serializers",
        "session_assigners",
        "time_assigners",
        "time_triggers",
        "trigger",
        "triggers",
        "windows",
    ),
    ("rekindle.serialization", "rekindle.serialization.snapshots"): (
        "composite_snapshot",
        "named_fields_snapshot",
        "simple_snapshot",
        "snapshot_aliases",
        "stored_snapshot",
    ),
    ("rekindle.serialization", "rekindle.serialization.avro"): (
        "avro_compatibility",
        "avro_parsing",
        "avro_records",
        "avro_resolution",
        "avro_schema",
        "avro_serializer",
    ),
    ("rekindle.serialization", "rekindle.serialization.classes"): (
        "class_fields",
        "class_names",
        "dataclass_serializer",
        "dropped_field",
        "enum_serializer",
        "fields_evolution",
        "named_fields_serializer",
        "recursive_class",
        "struct_serializer",
        "zero_values",
    ),
    ("rekindle.serialization", "rekindle.serialization.scalars"): (
        "basic_serializers",
        "integer_serializers",
        "native_serializers",
        "scalar_serializer",
        "time_serializers",
    ),
    ("rekindle.serialization", "rekindle.serialization.composites"): (
        "array_serializers",
        "collection_serializers",
        "columns",
        "elements_serializer",
        "native_collection_serializers",
        "nullable_serializer",
        "row_serializer",
        "spark_row_serializer",
        "tagged_union_serializer",
        "tuple_serializer",
    ),
    ("rekindle.serialization", "rekindle.serialization.encodings"): (
        "msgpack_serializer",
        "pickle_serializer",
        "plain_check",
        "stand_ins",
    ),
    ("rekindle.serialization", "rekindle.serialization.untyped"): (
        "exact_fit",
        "hinted_serializer",
        "inferred_key_serializer",
    ),
}
_NOW = {f"{before}.{name}": f"{now}.{name}" for (before, now), names in _MOVED.items() for name in names}
_NOW["rekindle.runtime.rows"] = "rekindle.types.spark_rows"


def current_module(name: str) -> str:
    """Return the name of a module, by the one that it had when state was written."""
    return _NOW.get(name, name)


def loads_moved(data: bytes | memoryview) -> Any:
    """Read a pickle whose classes may have been moved since."""
    return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(current_module(module), name)
