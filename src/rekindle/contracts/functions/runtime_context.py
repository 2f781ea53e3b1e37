"""What a function can ask about itself: its state, its place among its siblings, its metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from rekindle.base.type_variables import ACC, IN, OUT, K, T, V

if TYPE_CHECKING:
    from rekindle.contracts.functions.accumulators import (
        Accumulator,
        DoubleCounter,
        Histogram,
        IntCounter,
        LongCounter,
    )
    from rekindle.contracts.state import (
        AggregatingState,
        FoldingState,
        ListState,
        MapState,
        ReducingState,
        ValueState,
    )
    from rekindle.contracts.state.state_descriptors import (
        AggregatingStateDescriptor,
        FoldingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )
    from rekindle.metrics import MetricGroup

__all__ = ["KeyedStateStore", "RuntimeContext"]


class KeyedStateStore(ABC):
    """Hand out keyed state by descriptor.

    What a state handle returns depends on the key of the element being processed. The same descriptor
    always gives the same state; another type under a name that is taken raises. On a stream without a key
    every method raises ``StateAccessError``.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return the state that holds one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the state that holds a list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return the state that holds a map per key; entries are read and written one by one."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return the state that reduces all values added for a key to one."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, ACC, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return the state that aggregates all values added for a key; input and result types may differ."""

    @abstractmethod
    def get_folding_state(self, state_descriptor: FoldingStateDescriptor[IN, ACC]) -> FoldingState[IN, ACC]:
        """Return the state that folds all values added for a key into an initial value.

        Deprecated: use ``get_aggregating_state``.
        """


class RuntimeContext(KeyedStateStore):
    """Tell a function where it runs, and give it its state and its metrics.

    A function gets it in ``open``; each parallel instance has its own. Its state is keyed state; operator state is
    asked for in ``CheckpointedFunction.initialize_state``.
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the operator, as given with ``.name()`` or derived from the graph."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the operator's maximum parallelism, which is its number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the index of this parallel instance, counted from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often the job was restarted before this attempt: 0 at first."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the operator's name with this instance's place, such as ``"MyTask (3/6)"``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or ``default_value`` if the job has none of that name."""

    @abstractmethod
    def get_superstep_number(self) -> int:
        """Return the round that an iteration is in, counted from 1: 0 while its input is gathered.

        Only operators in a loop that has rounds have it; it raises in others.
        """

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator; ``JobExecutionResult.get_accumulator_result`` has what comes of all subtasks."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Return an accumulator that this function has registered; None if there is none of that name."""

    @abstractmethod
    def get_int_counter(self, name: str) -> IntCounter:
        """Return the counter of that name, which is registered where there is none."""

    @abstractmethod
    def get_long_counter(self, name: str) -> LongCounter:
        """Return the counter of that name, which is registered where there is none."""

    @abstractmethod
    def get_double_counter(self, name: str) -> DoubleCounter:
        """Return the counter of that name, which is registered where there is none."""

    @abstractmethod
    def get_histogram(self, name: str) -> Histogram:
        """Return the histogram of that name, which is registered where there is none."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the group under which this function registers its metrics."""
