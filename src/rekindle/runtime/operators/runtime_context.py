"""The RuntimeContext that functions get in ``open``."""

from __future__ import annotations

from typing import Any, TypeVar

from rekindle.contracts.functions import RuntimeContext
from rekindle.contracts.functions.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
from rekindle.contracts.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidCallError, InvalidProgramError, StateAccessError
from rekindle.metrics import MetricGroup
from rekindle.runtime.operators.operator_context import FunctionEnvironment
from rekindle.state.keyed_backend import KeyedStateBackend

A = TypeVar("A", bound=Accumulator[Any, Any])


class SlotRuntimeContext(RuntimeContext):
    """Serve a function in a slot; ``backend`` is None off keyed streams."""

    def __init__(self, environment: FunctionEnvironment, backend: KeyedStateBackend | None) -> None:
        self._environment = environment
        self._task = environment.task
        self._backend = backend

    def get_task_name(self) -> str:
        return self._task.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._task.subtask

    def get_attempt_number(self) -> int:
        return self._task.attempt

    def get_task_name_with_subtasks(self) -> str:
        task = self._task
        return f"{task.name} ({task.subtask + 1}/{task.parallelism})#{task.attempt}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._environment.job_parameters.get(key, default_value)

    def get_superstep_number(self) -> int:
        if self._environment.superstep is None:
            raise InvalidProgramError(
                f"operator {self._task.name!r} asked for the number of its round, but is not in an iteration with "
                "rounds: give iterate() max_iterations, or close_with() a termination criterion"
            )
        return self._environment.superstep()

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self._environment.accumulators.add(self._task.uid, self._task.name, name, accumulator)

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self._environment.accumulators.get(self._task.uid, name)

    def get_int_counter(self, name: str) -> IntCounter:
        return self._counter(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        return self._counter(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        return self._counter(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        return self._counter(name, Histogram)

    def _counter(self, name: str, kind: type[A]) -> A:
        return self._environment.accumulators.get_or_add(self._task.uid, self._task.name, name, kind)

    def get_metrics_group(self) -> MetricGroup:
        return self._environment.metrics

    def get_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, ValueStateDescriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, ListStateDescriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, MapStateDescriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, ReducingStateDescriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, AggregatingStateDescriptor)

    def get_folding_state(self, state_descriptor: Any) -> Any:
        return self._keyed(state_descriptor, FoldingStateDescriptor)

    def _keyed(self, descriptor: Any, wanted: type[StateDescriptor]) -> Any:
        if not isinstance(descriptor, wanted):
            raise InvalidCallError(f"this kind of state is described by a {wanted.__name__}, got {descriptor!r}")
        if self._backend is None:
            raise StateAccessError(
                "This state is only accessible by functions executed on a KeyedStream. "
                f"State {descriptor.get_name()!r} was asked for by operator {self._task.name!r}, whose input has no "
                "key: call key_by(...) before it"
            )
        return self._backend.get_or_create(descriptor)
