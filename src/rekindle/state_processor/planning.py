"""Plans how DataFrames become the state of an operator: with which serializers, and how their rows get to the slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from rekindle.checkpoint.metadata import OperatorMetadata
from rekindle.exceptions import ConfigurationError
from rekindle.graph.struct_pickling import dumps
from rekindle.serialization.composites.collection_serializers import ListSerializer, MapSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer, InferredKeySerializerSnapshot
from rekindle.state.blocks import StateSpec
from rekindle.state.kinds.state_kind import kind_of
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.state_processor.bootstrap import (
    FunctionTransformation,
    KeyedStateTransformation,
    ListTransformation,
    StateTransformation,
)
from rekindle.state_processor.reading_tasks import ask
from rekindle.state_processor.routing import ROUTED, Column, ColumnPairs, KeyedRouting, ListRouting, RowPairs
from rekindle.state_processor.shipped_program import Program
from rekindle.state_processor.slot_writing import FunctionStep, ListStep, OperatorPlan, StateStep, Step
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.spark_types import column_of
from rekindle.state_processor.state_types import StateType, keyed_state_types
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def planned(
    spark: SparkSession,
    snapshot: Snapshot | None,
    uid: str,
    carried: OperatorMetadata | None,
    transformations: Sequence[StateTransformation],
    scale: tuple[int, int],
    number: int,
    program: Program,
) -> tuple[OperatorPlan, list[DataFrame]]:
    """Plan the state of one operator.

    Args:
        spark: The session.
        snapshot: The savepoint that is changed, if one is.
        uid: The operator's uid in the new one.
        carried: The operator in the savepoint that is changed; None: it is new.
        transformations: What becomes its state.
        scale: Parallelism and max parallelism of new operators.
        number: The operator's number, by which rows find it.
        program: What there is of the user's program.

    Returns:
        The plan, and the rows on their way to the slots.
    """
    parallelism, max_parallelism = scale if carried is None else (carried.parallelism, carried.max_parallelism)
    known: dict[str, StateType] = {}
    if carried is not None and transformations:
        assert snapshot is not None
        known = ask(spark, snapshot, partial(keyed_state_types, uid=carried.uid))
    planning = _Planning(uid, known, parallelism, max_parallelism, number, program)
    steps: list[Step] = []
    routed: list[DataFrame] = []
    for transformation in transformations:
        step, rows = planning.step(transformation, len(steps))
        steps.append(step)
        routed.append(rows)
    left_out = frozenset(name for transformation in transformations for name in transformation.states)
    plan = OperatorPlan(
        uid,
        uid if carried is None else carried.name,
        parallelism,
        max_parallelism,
        planning.key_serializer or PickleSerializer(),
        tuple(steps),
        None if carried is None else carried.uid,
        left_out if carried is not None else frozenset(),
    )
    return plan, routed


@dataclass(slots=True)
class _Planning:
    uid: str
    known: dict[str, StateType]
    parallelism: int
    max_parallelism: int
    number: int
    program: Program
    key_serializer: TypeSerializer[Any] | None = None

    def step(self, transformation: StateTransformation, step: int) -> tuple[Step, DataFrame]:
        match transformation:
            case FunctionTransformation():
                return self._function(transformation, step)
            case KeyedStateTransformation():
                return self._keyed(transformation, step)
            case ListTransformation():
                return self._list(transformation, step)
        raise TypeError(f"{transformation!r} is nothing that becomes state")

    def _function(self, given: FunctionTransformation, step: int) -> tuple[Step, DataFrame]:
        serializer = self._key(given.key_type)
        key = given.key if callable(given.key) or isinstance(given.key, str) else tuple(given.key)
        routed = self._route(given.data_frame, RowPairs(key, serializer), step)
        return FunctionStep(given.function), routed

    def _keyed(self, given: KeyedStateTransformation, step: int) -> tuple[Step, DataFrame]:
        descriptor, schema = given.descriptor, given.data_frame.schema
        name, kind = descriptor.get_name(), kind_of(descriptor)
        before = self.known.get(name)
        if before is not None and before.kind != kind.name:
            raise ConfigurationError(
                f"state {name!r} of operator {self.uid!r} is {before.kind} state in the savepoint, and the descriptor "
                f"is one of {kind} state"
            )
        key = self._key(given.key_type)
        namespace = self._namespace(given, before)
        serializers = kind.serializers(descriptor, key)
        ttl = descriptor.get_ttl_config()
        spec = StateSpec(name, kind, ttl is not None and ttl.is_enabled(), given.namespace is not None)
        shape, columns = _value_columns(schema, given, serializers)
        pairs = ColumnPairs(
            Column.of(schema, given.key, key)
            if isinstance(given.key, str)
            else tuple(Column.of(schema, part, nested) for part, nested in _parts(given.key, key)),
            columns,
            key,
            None if given.namespace is None or namespace is None else Column.of(schema, given.namespace, namespace),
        )
        return StateStep(spec, descriptor, namespace, shape), self._route(given.data_frame, pairs, step)

    def _list(self, given: ListTransformation, step: int) -> tuple[Step, DataFrame]:
        descriptor, schema = given.descriptor, given.data_frame.schema
        typed = kind_of(descriptor).serializers(descriptor, UNUSED)
        to_all = given.mode is DistributionMode.BROADCAST
        serializers = (typed.map_key, typed.value) if to_all else (typed.value,)
        columns = tuple(Column.of(schema, *pair) for pair in zip(given.values, serializers, strict=True))
        routing = ListRouting(self.number, step, self.parallelism, to_all, columns, self.program)
        routed = given.data_frame.select(*given.values).mapInArrow(routing, ROUTED)
        return ListStep(descriptor.get_name(), given.mode, serializers), routed

    def _route(self, data_frame: DataFrame, pairs: Any, step: int) -> DataFrame:
        routing = KeyedRouting(self.number, step, self.parallelism, self.max_parallelism, dumps(pairs), self.program)
        return data_frame.mapInArrow(routing, ROUTED)

    def _key(self, key_type: TypeInformation | None) -> TypeSerializer[Any]:
        """Settle how keys are written: by the type that is given, else as before; all states of an operator alike."""
        before = next((known.serializers.key for known in self.known.values()), None)
        if key_type is not None:
            chosen = serializer_of(key_type)
            if before is not None and snapshot_to_bytes(chosen.snapshot_configuration()) != before:
                written_by = snapshot_from_bytes(before)
                result = chosen.snapshot_configuration().resolve_schema_compatibility(written_by)
                if not (isinstance(written_by, InferredKeySerializerSnapshot) and result.reconfigured is not None):
                    raise ConfigurationError(
                        f"operator {self.uid!r} has keys of type {written_by.describe()} in the savepoint, and "
                        f"key_type is {key_type}; all its states need keys of one type"
                    )
                chosen = result.reconfigured
        elif before is not None:
            chosen = snapshot_from_bytes(before).restore_serializer()
        else:
            chosen = self.key_serializer or PickleSerializer()
        if self.key_serializer is not None and chosen != self.key_serializer:
            raise ConfigurationError(f"operator {self.uid!r} is given keys of two types; all its states need one")
        self.key_serializer = chosen
        return chosen

    def _namespace(self, given: KeyedStateTransformation, before: StateType | None) -> TypeSerializer[Any] | None:
        if given.namespace is None:
            if before is not None and before.namespaced:
                raise ConfigurationError(
                    f"state {given.descriptor.get_name()!r} of operator {self.uid!r} belongs to windows: name their "
                    "column with namespace_column"
                )
            return None
        if given.namespace_serializer is not None:
            return given.namespace_serializer
        if before is not None and before.namespaced:
            return snapshot_from_bytes(before.serializers.namespace).restore_serializer()
        return PickleSerializer()


def _value_columns(
    schema: t.StructType, given: KeyedStateTransformation, serializers: StateSerializers
) -> tuple[str, tuple[Column, ...]]:
    """Return what the values are, and which columns hold them."""
    first = given.values[0]
    shape = kind_of(given.descriptor).shape
    if shape.has_map_keys:
        if len(given.values) == 2:
            pair = zip(given.values, (serializers.map_key, serializers.value), strict=True)
            return "entry", tuple(Column.of(schema, name, serializer) for name, serializer in pair)
        return "whole", (Column.of(schema, first, MapSerializer(serializers.map_key, serializers.value)),)
    if shape.several:
        data_type = schema[first].dataType
        if isinstance(data_type, t.ArrayType) and column_of(serializers.value).data_type != data_type:
            return "whole", (Column.of(schema, first, _list_of(serializers.value)),)
        return "element", (Column.of(schema, first, serializers.value),)
    return "whole", (Column.of(schema, first, serializers.value),)


def _list_of(element: TypeSerializer[Any]) -> TypeSerializer[Any]:
    return PickleSerializer() if type(element) is PickleSerializer else ListSerializer(element)


def _parts(names: tuple[str, ...], key: TypeSerializer[Any]) -> list[tuple[str, TypeSerializer[Any]]]:
    """Find the types of the columns of a key."""
    fields = getattr(key.inner if isinstance(key, InferredKeySerializer) else key, "fields", None)
    if fields is None or len(fields) != len(names):
        return [(name, PickleSerializer()) for name in names]
    return list(zip(names, fields, strict=True))
