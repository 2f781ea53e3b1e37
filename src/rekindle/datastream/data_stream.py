"""DataStream: the stream a program transforms, one operator after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from rekindle import datastream as streams
from rekindle.base.type_variables import T2, K, R, T_co, W
from rekindle.contracts.connectors import Sink
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import (
    FilterFunction,
    FlatMapFunction,
    GenericWriteAheadSink,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    SinkFunction,
    TwoPhaseCommitSinkFunction,
)
from rekindle.contracts.functions import Partitioner as PartitionFunction
from rekindle.contracts.functions.function_adapters import (
    as_filter_function,
    as_flat_map_function,
    as_key_selector,
    as_map_function,
    as_partitioner,
    refuse_fields,
    refuse_operator_state,
    require,
    rich_functions,
)
from rekindle.contracts.key_groups import MAX_PARALLELISM_LIMIT
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.contracts.windowing.count_assigners import count_windows
from rekindle.contracts.wrong_arguments import wrong_kind
from rekindle.datastream.data_stream_sink import DataStreamSink
from rekindle.datastream.operator_settings import check_slot_sharing_group, checked_buffer_timeout, checked_uid_hash
from rekindle.datastream.projection import projection
from rekindle.datastream.table_columns import table_columns, table_writer
from rekindle.datastream.type_hints import returned_type, state_key_type, yielded_type
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.batch_mode import require_bounded
from rekindle.graph.partitioning import (
    BROADCAST,
    FORWARD,
    GLOBAL,
    REBALANCE,
    RESCALE,
    SHUFFLE,
    Partitioner,
    Partitioning,
)
from rekindle.graph.stream_graph import Chaining, StreamEdge, StreamNode
from rekindle.graph.transformations.one_input import (
    FilterTransformation,
    FlatMapTransformation,
    MapTransformation,
    PassTransformation,
    ProcessTransformation,
    TimestampsAndWatermarksTransformation,
    one_input,
)
from rekindle.graph.transformations.sinks import (
    CollectTransformation,
    CommittingFunctionTransformation,
    DataFrameSinkTransformation,
    PrintTransformation,
    SinkFunctionTransformation,
    TwoPhaseSinkTransformation,
)
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rekindle.contracts.state import MapStateDescriptor
    from rekindle.contracts.table_commit import TableCommit
    from rekindle.contracts.windowing.assigner import WindowAssigner
    from rekindle.contracts.windowing.windows import CountWindow
    from rekindle.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from rekindle.datastream.cached_data_stream import CachedDataStream
    from rekindle.datastream.closeable_iterator import CloseableIterator
    from rekindle.datastream.connected_streams import ConnectedStreams
    from rekindle.datastream.iterative_stream import IterativeStream
    from rekindle.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from rekindle.datastream.keyed_stream import KeyedStream
    from rekindle.datastream.operators import OneInputStreamOperator
    from rekindle.datastream.slot_sharing_group import SlotSharingGroup
    from rekindle.datastream.stream_execution_environment import StreamExecutionEnvironment
    from rekindle.datastream.table_columns import TableSchema
    from rekindle.datastream.windowed_stream import AllWindowedStream

__all__ = ["DataStream", "DataStreamSink"]

_STREAMS_ELSEWHERE = {
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "KeyedStream",
    "WindowedStream",
}
_FOR_KEYED_STREAMS = {
    "as_queryable_state",
    "count_window",
    "filter_with_state",
    "flat_map_with_state",
    "interval_join",
    "map_with_state",
    "max",
    "max_by",
    "min",
    "min_by",
    "process_batches",
    "reduce",
    "sum",
    "window",
}


class DataStream(Generic[T_co]):
    """A stream of records. Every transformation gives a new one; nothing runs before ``env.execute()``."""

    _keyed = False

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        inputs: tuple[StreamEdge, ...],
        node: StreamNode | None,
        type_info: TypeInformation | None = None,
        hint: TypeInformation | None = None,
    ) -> None:
        self._environment = environment
        self._inputs = inputs
        self._node = node
        self._type_info = type_info
        self._hint = hint  # what annotations, or the schema of a DataFrame, say of the records without a type

    # --- the operator that makes this stream ---

    def get_name(self) -> str:
        """Return the name of the operator."""
        return self._own_node("get_name").name

    def name(self, name: str) -> Self:
        """Name the operator, for people: it is shown in errors and views."""
        self._own_node("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Set the identity of the operator, by which its state is found again when the program has changed."""
        self._own_node("uid").uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the uid that was derived for the operator before, 32 hexadecimal digits, to find its state again."""
        self._own_node("set_uid_hash").uid = checked_uid_hash(uid_hash)
        return self

    def set_description(self, description: str) -> Self:
        """Describe the operator: the execution plan shows it instead of the name."""
        self._own_node("set_description").description = description
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator."""
        node = self._own_node("set_parallelism")
        if parallelism < 1:
            raise InvalidProgramError(
                f"the parallelism of {node.name!r} must be at least 1, and {parallelism} was given"
            )
        if not node.parallel and parallelism != 1:
            raise InvalidProgramError(f"source {node.name!r} is not parallel: its parallelism must be 1")
        node.parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups of the operator: the highest parallelism it can ever have."""
        node = self._own_node("set_max_parallelism")
        if not 0 < max_parallelism <= MAX_PARALLELISM_LIMIT:
            raise InvalidProgramError(
                f"the max parallelism of {node.name!r} must be 1 to {MAX_PARALLELISM_LIMIT}, and {max_parallelism} was "
                "given"
            )
        node.max_parallelism = max_parallelism
        return self

    def force_non_parallel(self) -> Self:
        """Set the parallelism of the operator to 1."""
        return self.set_parallelism(1)

    def start_new_chain(self) -> Self:
        """Let no chain reach from the operator before into this one: records come as their type shows them."""
        self._own_node("start_new_chain").chaining = Chaining.HEAD
        return self

    def disable_chaining(self) -> Self:
        """Chain this operator with none: records come and go as their types show them."""
        self._own_node("disable_chaining").chaining = Chaining.NEVER
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accept how long records may wait for others before they are sent on; epochs decide that."""
        self._own_node("set_buffer_timeout")
        checked_buffer_timeout(timeout_millis)
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Accept the name of a group of operators; all operators with one subtask index share a slot anyway."""
        self._own_node("slot_sharing_group")
        check_slot_sharing_group(slot_sharing_group)
        return self

    def get_type(self) -> TypeInformation:
        """Return the type of the records: that of anything that can be pickled, where none was given."""
        return Types.PICKLED_BYTE_ARRAY() if self._type_info is None else self._type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment this stream belongs to."""
        return self._environment

    def get_execution_config(self) -> Any:
        """Return the configuration of the environment's executions."""
        return self._environment.get_config()

    # --- transformations ---

    @overload
    def map(self, func: MapFunction[T_co, R], output_type: RecordType | None = None) -> DataStream[R]: ...

    @overload
    def map(self, func: Callable[[T_co], R], output_type: RecordType | None = None) -> DataStream[R]: ...

    def map(
        self, func: Callable[[Any], Any] | MapFunction[Any, Any], output_type: RecordType | None = None
    ) -> DataStream[Any]:
        """Turn each record into one."""
        function = as_map_function(func)
        return self._transform("Map", MapTransformation(function), output_type, returned_type(function.map))

    @overload
    def flat_map(self, func: FlatMapFunction[T_co, R], output_type: RecordType | None = None) -> DataStream[R]: ...

    @overload
    def flat_map(
        self, func: Callable[[T_co], Iterable[R] | None], output_type: RecordType | None = None
    ) -> DataStream[R]: ...

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction[Any, Any], output_type: RecordType | None = None
    ) -> DataStream[Any]:
        """Turn each record into any number: the function yields them, or returns an iterable or None."""
        function = as_flat_map_function(func)
        transformation = FlatMapTransformation(function)
        return self._transform("FlatMap", transformation, output_type, yielded_type(function.flat_map))

    def filter(self, func: Callable[[T_co], bool] | FilterFunction[T_co]) -> DataStream[T_co]:
        """Keep the records for which the function returns true."""
        transformation = FilterTransformation(as_filter_function(func))
        return self._transform("Filter", transformation, self._type_info, self._hint)

    def process(self, func: ProcessFunction[T_co, R], output_type: RecordType | None = None) -> DataStream[R]:
        """Run a ProcessFunction over the records."""
        given: Any = func
        if isinstance(given, KeyedProcessFunction):
            raise TypeError(f"{type(given).__name__} is a KeyedProcessFunction: call key_by(...) before process")
        function: ProcessFunction[T_co, R] = require(func, ProcessFunction, "process on a stream without a key")
        transformation = ProcessTransformation(function)
        return self._transform("PROCESS", transformation, output_type, yielded_type(function.process_element))

    def transform(
        self, operator_name: str, output_type: RecordType | None, operator: OneInputStreamOperator
    ) -> DataStream[Any]:
        """Put a custom operator on the stream; see ``rekindle.datastream.operators``.

        Args:
            operator_name: The operator's name.
            output_type: The type of the records it emits; None: any Python object.
            operator: An AbstractStreamOperator with one input.
        """
        return self._transform(operator_name, one_input(operator, self._keyed), output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy[T_co]) -> DataStream[T_co]:
        """Assign timestamps to the records, and watermarks to the stream; earlier ones no longer count.

        Watermarks travel with the records: what comes behind one is late.
        """
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeError(
                f"assign_timestamps_and_watermarks takes a WatermarkStrategy, and was given {watermark_strategy!r}"
            )
        transformation = TimestampsAndWatermarksTransformation(watermark_strategy)
        return self._transform("Timestamps/Watermarks", transformation, self._type_info, self._hint)

    @overload
    def key_by(
        self, key_selector: KeySelector[T_co, K], key_type: RecordType | None = None
    ) -> KeyedStream[T_co, K]: ...

    @overload
    def key_by(self, key_selector: Callable[[T_co], K], key_type: RecordType | None = None) -> KeyedStream[T_co, K]: ...

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector[Any, Any], key_type: RecordType | None = None
    ) -> KeyedStream[T_co, Any]:
        """Group the records by a key: all of one key go to the same subtask, and have state of their own.

        Args:
            key_selector: Gives the key of a record.
            key_type: The type of the keys. It decides which keys are one: with ``Types.LONG()``, 1, 1.0 and True are
                the key 1. Without it, keys are one when they are equal in Python.
        """
        refuse_fields(key_selector, key_type)
        selector = as_key_selector(key_selector)
        declared = declared_type(key_type, "key_type of key_by")
        functions = rich_functions(key_selector)
        partitioner = Partitioner(Partitioning.HASH, selector, declared, functions=functions)
        # What a selector does that has to be opened is not known yet.
        hint = None if functions else state_key_type(self._hint, selector)
        return streams.KeyedStream(
            self._environment, self._repartitioned(partitioner), self, self._type_info, declared, hint
        )

    def union(self, *streams: DataStream[T_co]) -> DataStream[T_co]:
        """Merge this stream with others of the same type."""
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise wrong_kind("union", "streams, one after the other", stream, DataStream)
            if stream._environment is not self._environment:
                raise InvalidProgramError("only streams of one environment can be united")
            if stream.get_type() != self.get_type():
                raise InvalidProgramError(
                    f"only streams of one type can be united, and these are of {self.get_type()} and "
                    f"{stream.get_type()}; give the operators before them the same output_type"
                )
        inputs = [*self._plain_inputs()]
        for stream in streams:
            inputs += stream._plain_inputs()
        hint = self._hint if all(stream._hint == self._hint for stream in streams) else None
        return DataStream(self._environment, tuple(inputs), None, self._type_info, hint)

    @overload
    def connect(self, ds: DataStream[T2]) -> ConnectedStreams[T_co, T2]: ...

    @overload
    def connect(self, ds: BroadcastStream[T2]) -> BroadcastConnectedStream[T_co, T2]: ...

    def connect(
        self, ds: DataStream[Any] | BroadcastStream[Any]
    ) -> ConnectedStreams[T_co, Any] | BroadcastConnectedStream[T_co, Any]:
        """Connect this stream with another, of any type: one function reads both and shares its state between them."""
        if isinstance(ds, streams.BroadcastStream):
            return streams.BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return streams.ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream[T2]) -> JoinedStreams[T_co, T2]:
        """Join this stream with another: each pair of elements that have one key and are in one window."""
        return streams.JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[T2]) -> CoGroupedStreams[T_co, T2]:
        """Group this stream and another by keys and windows, to look at the elements of both together."""
        return streams.CoGroupedStreams(self, other_stream)

    def project(self, *field_indexes: int) -> DataStream[Any]:
        """Keep some fields of each tuple or row, in the order of the places given."""
        function, type_info = projection(self.get_type(), field_indexes)
        return self._transform("Projection", MapTransformation(function), type_info)

    def rebalance(self) -> DataStream[T_co]:
        """Deal the records out to the subtasks of the next operator, one by one."""
        return self._dealt_out(REBALANCE)

    def rescale(self) -> DataStream[T_co]:
        """Deal the records of each subtask out to a few subtasks of the next operator, which are its own."""
        return self._dealt_out(RESCALE)

    def shuffle(self) -> DataStream[T_co]:
        """Send each record to a subtask of the next operator chosen at random."""
        return self._dealt_out(SHUFFLE)

    def forward(self) -> DataStream[T_co]:
        """Keep the records in their subtask; the next operator must have the same parallelism."""
        return self._dealt_out(Partitioner(Partitioning.FORWARD, asked_for=True))

    def global_(self) -> DataStream[T_co]:
        """Send all records to the first subtask of the next operator: Flink's ``global``."""
        return self._dealt_out(GLOBAL)

    @overload
    def broadcast(self) -> DataStream[T_co]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream[T_co]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T_co] | BroadcastStream[T_co]:
        """Send each record to every subtask of the next operator.

        Args:
            broadcast_state_descriptor: A state in which the next operator keeps the records; the stream can then be
                connected with others, and nothing else.
            other_broadcast_state_descriptors: More of them.
        """
        stream = self._dealt_out(BROADCAST)
        if broadcast_state_descriptor is None:
            return stream
        return streams.BroadcastStream(stream, [broadcast_state_descriptor, *other_broadcast_state_descriptors])

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | PartitionFunction[K],
        key_selector: Callable[[T_co], K] | KeySelector[T_co, K],
    ) -> DataStream[T_co]:
        """Send each record to the subtask of the next operator that a function chooses by its key.

        Args:
            partitioner: Gives the subtask for a key and the number of subtasks, which it is below.
            key_selector: Gives the key of a record.
        """
        choose, selector = as_partitioner(partitioner, key_selector)
        functions = rich_functions(partitioner, key_selector)
        return self._dealt_out(Partitioner(Partitioning.CUSTOM, selector, choose=choose, functions=functions))

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """Return the stream of what the function of this operator yields as ``output_tag, value``.

        A side output that nobody asks for is dropped.

        Args:
            output_tag: The tag; side outputs are told apart by its id.
        """
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"get_side_output takes an OutputTag, and was given {output_tag!r}")
        node = self._own_node("get_side_output")
        if not node.inputs:
            raise InvalidProgramError(f"source {node.name!r} has no side outputs: only process functions have")
        tag_id, type_info = output_tag.tag_id, output_tag.type_info
        known = node.side_outputs.setdefault(tag_id, type_info)
        if known != type_info:
            raise InvalidProgramError(
                f"side output {tag_id!r} of {node.name!r} was asked for as {known} and now as {type_info}; use the "
                "same OutputTag, or give the other one another id"
            )
        side: DataStream[R] = DataStream(
            self._environment, (StreamEdge(node.id, FORWARD, type_info, tag_id),), None, type_info
        )
        return side._transform("Map", PassTransformation(), type_info)  # PyFlink has a map here, which may be named

    def iterate(self, max_wait_ms: int = 0, max_iterations: int | None = None) -> IterativeStream[T_co]:
        """Begin a loop: what ``close_with`` feeds back goes through the operators after this again.

        Args:
            max_wait_ms: Accepted, and not needed: a loop is over when its input has ended and nothing is in it.
            max_iterations: Run in rounds, at most this many. One round is completed before the next begins.
        """
        return streams.IterativeStream.begin(self, max_wait_ms, max_iterations)

    def cache(self) -> CachedDataStream[T_co]:
        """Return a stream that several jobs of a program may read; each of them computes it again."""
        return streams.CachedDataStream(self)

    # --- windows ---

    def window_all(self, window_assigner: WindowAssigner[T_co, W]) -> AllWindowedStream[T_co, W]:
        """Cut the stream into windows, in one subtask."""
        return streams.AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T_co, CountWindow]:
        """Cut the stream into windows of a fixed number of elements, in one subtask.

        Args:
            size: The number of elements of a window.
            slide: How many elements after a window the next one begins; 0: when it is full.
        """
        return self.window_all(count_windows(size, slide))

    # --- ends ---

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records on the driver's standard output."""
        # PyFlink shows rows, and what has no type, by a function of its own, chained to the operator before it.
        shown_by_python = isinstance(self.get_type(), RowTypeInfo | PickledBytesTypeInfo)
        transformation = PrintTransformation(sink_identifier, self._type_info)
        return self._sink("Print to Std. Out", transformation, typed_input=not shown_by_python)

    def add_sink(self, sink_func: SinkFunction[T_co] | GenericWriteAheadSink[T_co]) -> DataStreamSink:
        """Call a SinkFunction for each record, a TwoPhaseCommitSinkFunction in transactions.

        A GenericWriteAheadSink is called when a checkpoint is complete. A function that is also a Sink takes part in
        checkpoints, as in ``sink_to``.
        """
        if isinstance(sink_func, Sink):
            return self._sink("Unnamed", TwoPhaseSinkTransformation(sink_func, self._type_info))
        if isinstance(sink_func, TwoPhaseCommitSinkFunction | GenericWriteAheadSink):
            instead = "its own transactions or records are in checkpoints, and what else belongs there is user context"
            refuse_operator_state(sink_func, "two-phase commit", instead)
            return self._sink("Unnamed", CommittingFunctionTransformation(sink_func, self._type_info))
        return self._sink("Unnamed", SinkFunctionTransformation(require(sink_func, SinkFunction, "add_sink")))

    def sink_to(self, sink: Sink[T_co]) -> DataStreamSink:
        """Write the records to a sink that takes part in checkpoints, such as FileSink."""
        if not isinstance(sink, Sink):
            raise TypeError(f"sink_to takes a Sink, and was given a {type(sink).__name__}; use add_sink for functions")
        return self._sink("Writer", TwoPhaseSinkTransformation(sink, self._type_info))

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T_co]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[T_co]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T_co]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T_co] | list[T_co]:
        """Run the program and iterate over the records of this stream.

        Args:
            job_execution_name: The job's name.
            limit: Return a list of at most this many records instead of an iterator, and end the job.
        """
        collect = self._sink("Collect", CollectTransformation(self._type_info), nameable=False)
        if self._node is not None and self._node.parallelism is not None:
            collect.set_parallelism(self._node.parallelism)  # no exchange on the way: the order stays
        iterator = self._environment._execute_and_collect(job_execution_name)
        if limit is None:
            return iterator
        with iterator:
            return [record for record, _ in zip(iterator, range(limit), strict=False)]

    def sink_to_data_frame(
        self,
        write: Callable[[DataFrame, TableCommit], None] | Callable[[DataFrame], None],
        schema: TableSchema | None = None,
        name: str = "DataFrame Sink",
    ) -> DataStreamSink:
        """Hand the records of each checkpoint, as a DataFrame, to a function that writes them with Spark.

        The function is called on the driver when a checkpoint with records is complete, once for each of them and in
        their order. After a failure it may be called again for rows that it has written, see docs/spark-tables.md.

        Args:
            write: Writes the rows: ``write(frame, commit)``, or ``write(frame)``.
            schema: The columns, as a ``StructType`` or as a string; by default, those of the records' type.
            name: The name of the operator.
        """
        columns = table_columns(schema, self._type_info or self._hint, self._environment, "sink_to_data_frame")
        return self._sink(name, DataFrameSinkTransformation(columns, table_writer(write)))

    def to_data_frame(self, schema: TableSchema | None = None, job_name: str | None = None) -> DataFrame:
        """Run the program, and return the records of this stream as a DataFrame; for bounded programs.

        The rows are in files that Spark reads, which are there until the driver ends.

        Args:
            schema: The columns, as a ``StructType`` or as a string; by default, those of the records' type.
            job_name: The job's name.

        Raises:
            InvalidProgramError: A source of the program never ends.
        """
        require_bounded(self._environment._graph.pending(), "to_data_frame", "sink_to_data_frame(write)")
        columns = table_columns(schema, self._type_info or self._hint, self._environment, "to_data_frame")
        frames = self._environment._collected_frames(columns)
        self._sink("DataFrame", DataFrameSinkTransformation(columns, frames.write), nameable=False)
        self._environment.execute(job_name)
        frame: DataFrame = frames.frame()
        return frame

    # --- inside ---

    if not TYPE_CHECKING:  # a checker of types shall go on to find misspelt names

        def __getattr__(self, name: str) -> Any:
            """Return what to do where a method is called that only keyed streams have."""
            if name in _FOR_KEYED_STREAMS:
                other = f", or use {name}_all" if name in ("window", "count_window") else ""
                message = f"a stream without a key has no {name!r}: call key_by(...) before it{other}"
            else:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)

    def _own_node(self, method: str) -> StreamNode:
        if self._node is None:
            raise InvalidProgramError(
                f"{method} is for operators, and this stream is only a union or a partitioning of others; call it on "
                "the operator before or after"
            )
        return self._node

    def _plain_inputs(self) -> tuple[StreamEdge, ...]:
        return self._inputs

    def _repartitioned(self, partitioner: Partitioner) -> tuple[StreamEdge, ...]:
        return tuple(replace(edge, partitioner=partitioner) for edge in self._inputs)

    def _dealt_out(self, partitioner: Partitioner) -> DataStream[T_co]:
        return DataStream(self._environment, self._repartitioned(partitioner), None, self._type_info, self._hint)

    def _transform(
        self,
        name: str,
        transformation: Transformation,
        output_type: RecordType | None,
        hint: TypeInformation | None = None,
    ) -> DataStream[Any]:
        type_info = declared_type(output_type, f"output_type of {name}")
        node = self._environment._graph.add(name, transformation, self._inputs)
        return DataStream(self._environment, (StreamEdge(node.id, FORWARD, type_info),), node, type_info, hint)

    def _sink(
        self, name: str, transformation: Transformation, typed_input: bool = True, nameable: bool = True
    ) -> DataStreamSink:
        graph = self._environment._graph
        node = graph.add(name, transformation, self._inputs, typed_input=typed_input, nameable=nameable, sink=True)
        return DataStreamSink(node)


def __getattr__(name: str) -> Any:
    """Find the streams that PyFlink has in this module, and Rekindle in modules of their own."""
    if name in _STREAMS_ELSEWHERE:
        return getattr(streams, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
