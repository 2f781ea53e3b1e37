"""Reads several states of an operator at once, key by key, with a function of the user's."""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rekindle.base.clock import SystemClock
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.metrics.slot_metrics import SlotMetricGroup
from rekindle.runtime.operators.operator_context import FunctionEnvironment, TaskInfo
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.slot.restore import RestoredKeyedState
from rekindle.serialization.encodings.stand_ins import stand_ins_for_missing_classes
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.state_owner import StateOwner
from rekindle.state_processor.contents import SnapshotContents
from rekindle.state_processor.reader_function import KeyedStateReaderFunction
from rekindle.state_processor.readings import Part, Reading
from rekindle.state_processor.spark_types import Convert, SparkColumn, converter_to
from rekindle.state_processor.state_types import keyed_state_types
from rekindle.state_processor.stored_types import readable_serializer
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class _Timers(KeyedStateReaderFunction.Context):
    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self.timers: dict[tuple[str, Any], set[int]] = defaultdict(set)

    def registered_event_time_timers(self) -> set[int]:
        return self.timers.get(("event", self._backend.key), set())

    def registered_processing_time_timers(self) -> set[int]:
        return self.timers.get(("processing", self._backend.key), set())


class FunctionReading(Reading):
    """Read with a :class:`KeyedStateReaderFunction`. A part is restored as a subtask would be."""

    def __init__(
        self, uid: str, function: KeyedStateReaderFunction, given: StructType, key_type: TypeInformation | None
    ) -> None:
        self._uid = uid
        self._function = function
        self._given = given
        self._key_type = key_type

    def columns(self) -> list[tuple[str, SparkColumn]]:
        fields = self._given.fields
        return [(f.name, SparkColumn(f.dataType, converter_to(f.dataType), lambda value: value)) for f in fields]

    def converters(self) -> list[Convert]:
        return [lambda value: value] * len(self._given.fields)

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        assert isinstance(part, KeyGroupRange)
        operator = contents.snapshot.operator(self._uid)
        owner = StateOwner(operator.name, self._uid, self._key_serializer(contents))
        backend = HeapKeyedStateBackend(owner, part, operator.max_parallelism, lambda: round(time.time() * 1000))
        ctx = _Timers(backend)
        for old in range(operator.parallelism):
            written = key_group_range(old, operator.parallelism, operator.max_parallelism)
            if written.intersects(part):
                found: RestoredKeyedState = contents.blocks(operator, old, part)
                backend.restore_blocks(found.blocks)
        for timer in contents.timers(self._uid, part):
            ctx.timers[timer.domain, timer.key].add(timer.timestamp)
        to_row = converter_to(self._given)
        function = copy.deepcopy(self._function)
        environment = function_environment(TaskInfo(operator.uid, operator.name, 0, 1, operator.max_parallelism))
        with stand_ins_for_missing_classes():
            function.open(SlotRuntimeContext(environment, backend))
        try:
            names = backend.registered_names()
            for key in dict.fromkeys(key for name in names for key in backend.keys(name)):
                backend.key = key
                for made in function.read_key(key, ctx) or ():
                    yield tuple(to_row(made).values())
        finally:
            function.close()

    def _key_serializer(self, contents: SnapshotContents) -> TypeSerializer[Any]:
        if self._key_type is not None:
            return serializer_of(self._key_type)
        for known in keyed_state_types(contents, self._uid).values():
            return readable_serializer(known.serializers.key)[0]
        return StateOwner("").key_serializer


def function_environment(task: TaskInfo) -> FunctionEnvironment:
    """Return what a function learns that runs in a task of Spark's, not in a slot."""
    return FunctionEnvironment(task=task, job_parameters={}, metrics=SlotMetricGroup(SystemClock()))
