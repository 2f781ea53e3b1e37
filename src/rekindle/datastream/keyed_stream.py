"""KeyedStream: a stream grouped by key, whose operators have state per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, overload

from rekindle import datastream as streams
from rekindle.base.type_variables import T2, K, K_co, R, T_co, W
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from rekindle.contracts.functions.batch_functions import (
    BatchValueState,
    CallableBatchFunction,
    KeyedBatchFunction,
)
from rekindle.contracts.functions.function_adapters import (
    as_filter_function,
    as_flat_map_function,
    as_map_function,
    as_reduce_function,
    require,
)
from rekindle.contracts.state import StateDescriptor, ValueStateDescriptor
from rekindle.contracts.windowing.count_assigners import count_windows
from rekindle.contracts.wrong_arguments import wrong_kind
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.queryable_state_stream import (
    KeepForQueries,
    QueryableStateStream,
    queryable_descriptor,
)
from rekindle.datastream.refused_methods import refuse_method, refuse_methods_of_operators
from rekindle.datastream.running_aggregates import FieldReductions
from rekindle.datastream.stateful_functions import (
    FilterWithState,
    FlatMapWithState,
    MapWithState,
)
from rekindle.datastream.type_hints import returned_type, state_type, yielded_type
from rekindle.graph.passed_rows import rows_schema
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.one_input import (
    KeyedBatchTransformation,
    KeyedFilterTransformation,
    KeyedFlatMapTransformation,
    KeyedMapTransformation,
    KeyedProcessTransformation,
    ReduceTransformation,
)
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from rekindle.contracts.windowing.assigner import WindowAssigner
    from rekindle.contracts.windowing.windows import CountWindow
    from rekindle.datastream.interval_join import IntervalJoin
    from rekindle.datastream.stream_execution_environment import StreamExecutionEnvironment
    from rekindle.datastream.windowed_stream import WindowedStream

__all__ = ["KeyedStream", "kept_key_type"]


class KeyedStream(DataStream[T_co], FieldReductions[T_co], Generic[T_co, K_co]):
    """A stream on which functions may keep state per key.

    ``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` give, with every record, what comes out for its key so far.
    """

    _keyed = True

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        inputs: tuple[StreamEdge, ...],
        origin: DataStream[T_co],
        type_info: TypeInformation | None,
        key_type: TypeInformation | None = None,
        key_hint: TypeInformation | None = None,
    ) -> None:
        super().__init__(environment, inputs, None, type_info, origin._hint)
        self._origin = origin
        self._key_type = key_type
        self._key_hint = key_hint  # by what the keys are kept in state, where the program gave no type

    @overload
    def map(self, func: MapFunction[T_co, R], output_type: RecordType | None = None) -> DataStream[R]: ...

    @overload
    def map(self, func: Callable[[T_co], R], output_type: RecordType | None = None) -> DataStream[R]: ...

    def map(
        self, func: Callable[[Any], Any] | MapFunction[Any, Any], output_type: RecordType | None = None
    ) -> DataStream[Any]:
        """Turn each record into one; a MapFunction may keep state per key."""
        function = as_map_function(func)
        return self._transform("Map", KeyedMapTransformation(function), output_type, returned_type(function.map))

    @overload
    def flat_map(self, func: FlatMapFunction[T_co, R], output_type: RecordType | None = None) -> DataStream[R]: ...

    @overload
    def flat_map(
        self, func: Callable[[T_co], Iterable[R] | None], output_type: RecordType | None = None
    ) -> DataStream[R]: ...

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction[Any, Any], output_type: RecordType | None = None
    ) -> DataStream[Any]:
        """Turn each record into any number; a FlatMapFunction may keep state per key."""
        function = as_flat_map_function(func)
        transformation = KeyedFlatMapTransformation(function)
        return self._transform("FlatMap", transformation, output_type, yielded_type(function.flat_map))

    def filter(self, func: Callable[[T_co], bool] | FilterFunction[T_co]) -> DataStream[T_co]:
        """Keep the records for which the function returns true; a FilterFunction may keep state per key."""
        transformation = KeyedFilterTransformation(as_filter_function(func))
        return self._transform("Filter", transformation, self._type_info, self._hint)

    def reduce(self, func: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co]) -> DataStream[T_co]:
        """Combine the records of each key; every record gives the combination so far."""
        function = as_reduce_function(func)
        hint = self._hint or returned_type(function.reduce)
        transformation = ReduceTransformation(function, self._type_info or state_type(hint))
        return self._transform("Reduce", transformation, self._type_info, hint)

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction[K_co, T_co, R], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Run a KeyedProcessFunction over the records, with state and timers per key."""
        function: KeyedProcessFunction[K_co, T_co, R] = require(func, KeyedProcessFunction, "process on a keyed stream")
        transformation = KeyedProcessTransformation(function)
        return self._transform("KEYED PROCESS", transformation, output_type, yielded_type(function.process_element))

    def process_batches(
        self,
        func: KeyedBatchFunction | Callable[[Any, BatchValueState], Any],
        state_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[Any]:
        """Run a function over Arrow batches of records, with the state of many keys at once.

        Args:
            func: A KeyedBatchFunction; or a callable ``(batch, state)``, with one value of state per key. What it
                returns are Arrow batches, whose rows are the results.
            state_type: The type of a callable's state: numbers, text, booleans, or tuples of these.
            output_type: The type of the results.
        """
        if not isinstance(func, KeyedBatchFunction):
            if not callable(func) or isinstance(func, type):
                raise wrong_kind("process_batches", "a KeyedBatchFunction or a callable", func, KeyedBatchFunction)
            declared = declared_type(state_type, "state_type of process_batches")
            if declared is None:
                raise TypeError("process_batches with a callable takes the type of its state: state_type=Types.LONG()")
            func = CallableBatchFunction(func, ValueStateDescriptor("state", declared))
        schema = None if self._type_info is not None else rows_schema(self._environment._graph.nodes, self._inputs)
        transformation = KeyedBatchTransformation(func, self._type_info, schema)
        return self._transform("KEYED BATCHES", transformation, output_type)

    def window(self, window_assigner: WindowAssigner[T_co, W]) -> WindowedStream[T_co, K_co, W]:
        """Cut the records of each key into windows."""
        return streams.WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T_co, K_co, CountWindow]:
        """Cut the records of each key into windows of a fixed number.

        Args:
            size: The number of records of a window.
            slide: How many records after a window the next one begins; 0: when it is full.
        """
        return self.window(count_windows(size, slide))

    def interval_join(self, other_stream: KeyedStream[T2, K_co]) -> IntervalJoin[T_co, T2]:
        """Join this stream with another keyed one: elements of one key whose timestamps are close to each other."""
        return streams.IntervalJoin(self, other_stream)

    def map_with_state(
        self,
        func: Callable[[T_co, Any], tuple[R, Any]],
        output_type: RecordType | None = None,
        state_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Turn each record into one, with one value of state per key.

        Args:
            func: ``(value, state) -> (result, new state)``; the state is None where a key has none, and None drops it.
            output_type: The type of the results.
            state_type: The type of the state; pickled Python objects if None.
        """
        declared = declared_type(state_type, "state_type of map_with_state")
        return self.map(MapWithState("map_with_state", func, declared), output_type)

    def flat_map_with_state(
        self,
        func: Callable[[T_co, Any], tuple[Iterable[R] | None, Any]],
        output_type: RecordType | None = None,
        state_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Turn each record into any number, with one value of state per key.

        Args:
            func: ``(value, state) -> (results, new state)``.
            output_type: The type of the results.
            state_type: The type of the state; pickled Python objects if None.
        """
        declared = declared_type(state_type, "state_type of flat_map_with_state")
        return self.flat_map(FlatMapWithState("flat_map_with_state", func, declared), output_type)

    def filter_with_state(
        self, func: Callable[[T_co, Any], tuple[bool, Any]], state_type: RecordType | None = None
    ) -> DataStream[T_co]:
        """Keep some records, with one value of state per key.

        Args:
            func: ``(value, state) -> (keep it?, new state)``.
            state_type: The type of the state; pickled Python objects if None.
        """
        declared = declared_type(state_type, "state_type of filter_with_state")
        return self.filter(FilterWithState("filter_with_state", func, declared))

    def as_queryable_state(
        self, queryable_state_name: str, state_descriptor: StateDescriptor | None = None
    ) -> QueryableStateStream:
        """Keep the records in a state that clients can query; nothing follows it.

        Args:
            queryable_state_name: The name under which clients query it, which must be unique in the job.
            state_descriptor: A ValueStateDescriptor (the last record of each key counts, as it does without one), a
                ReducingStateDescriptor or a FoldingStateDescriptor.
        """
        descriptor = queryable_descriptor(queryable_state_name, state_descriptor, self._type_info)
        kept = self.process(KeepForQueries(descriptor))
        kept.name(f"Queryable state: {queryable_state_name}")
        return QueryableStateStream(queryable_state_name, descriptor, kept_key_type(self), kept)

    @overload
    def key_by(
        self, key_selector: KeySelector[T_co, K], key_type: RecordType | None = None
    ) -> KeyedStream[T_co, K]: ...

    @overload
    def key_by(self, key_selector: Callable[[T_co], K], key_type: RecordType | None = None) -> KeyedStream[T_co, K]: ...

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector[Any, Any], key_type: RecordType | None = None
    ) -> KeyedStream[T_co, Any]:
        """Group the records by another key."""
        return self._origin.key_by(key_selector, key_type)

    def _record_type(self) -> TypeInformation | None:
        return self._type_info

    def _plain_inputs(self) -> tuple[StreamEdge, ...]:
        return self._origin._plain_inputs()

    def _transform(
        self,
        name: str,
        transformation: Transformation,
        output_type: RecordType | None,
        hint: TypeInformation | None = None,
    ) -> DataStream[Any]:
        keyed = replace(transformation, key_type=kept_key_type(self))
        return super()._transform(name, keyed, output_type, hint)


def kept_key_type(*streams: KeyedStream) -> TypeInformation | None:
    """Return the type by which an operator keeps the keys of its inputs: the declared one, or one that all hint at."""
    first = streams[0]
    if first._key_type is not None:
        return first._key_type
    return first._key_hint if all(stream._key_hint == first._key_hint for stream in streams) else None


_ELSEWHERE = "Not possible on a keyed stream, as in PyFlink: call it on the operator before or after."
_PARTITIONED = "Not possible on a keyed stream, as in PyFlink: its records are partitioned by their keys."

refuse_methods_of_operators(KeyedStream, _ELSEWHERE)
refuse_method(KeyedStream, "cache", "Cache for KeyedStream is not supported.", _ELSEWHERE)
for _method in ("shuffle", "rescale", "rebalance", "forward", "global_", "broadcast", "partition_custom"):
    refuse_method(KeyedStream, _method, "Cannot override partitioning for KeyedStream.", _PARTITIONED)
