"""Programs with every call that adds operators, and the checkpoints that they would take."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from rekindle.checkpoint.metadata import CheckpointMetadata, ListStateMetadata, OperatorMetadata, SourcePosition
from rekindle.common import Duration, Encoder, SimpleStringSchema, Time, Types, WatermarkStrategy
from rekindle.contracts.connectors import Sink
from rekindle.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from rekindle.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from rekindle.datastream.connectors.kafka import FlinkKafkaConsumer, KafkaSource
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import TwoPhaseCommitSinkFunction
from rekindle.datastream.operators import AbstractStreamOperator, OneInputStreamOperator, TwoInputStreamOperator
from rekindle.datastream.state import MapStateDescriptor
from rekindle.datastream.window import CountEvictor, TumblingEventTimeWindows
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.transformations.transformation import KeyedTransformation
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.testing import local_environment

IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()
UNTIMED = WatermarkStrategy.no_watermarks()


def environment() -> StreamExecutionEnvironment:
    """Return an environment in which programs are compiled, and not run."""
    env: StreamExecutionEnvironment = local_environment()
    return env


class Names:
    """Give all that calls return a name, and a uid that is the same.

    Args:
        prefix: What the names begin with.
        uids: Whether to give uids.
    """

    def __init__(self, prefix: str, uids: bool = True) -> None:
        self._prefix = prefix
        self._uids = uids
        self._given = 0

    def __call__(self, made: Any) -> Any:
        """Name what a call has returned, and return it."""
        name = f"{self._prefix}.{self._given}"
        self._given += 1
        if hasattr(made, "name"):
            made.name(name)
        return made.uid(name) if self._uids else made


# --- sources ---


def files(env: StreamExecutionEnvironment, name: str = "lines", strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    """Read a directory to which files are added."""
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in")
    return env.from_source(builder.monitor_continuously(Duration.of_seconds(1)).build(), strategy, name)


def kafka(env: StreamExecutionEnvironment, name: str = "topic", strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    """Read a topic."""
    builder = KafkaSource.builder().set_bootstrap_servers("broker:9092").set_topics("orders")
    return env.from_source(builder.set_value_only_deserializer(SimpleStringSchema()).build(), strategy, name)


def _consumer() -> FlinkKafkaConsumer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return FlinkKafkaConsumer("topic", SimpleStringSchema(), {"bootstrap.servers": "broker:9092", "group.id": "g"})


SOURCES: dict[str, Callable[[StreamExecutionEnvironment], DataStream]] = {
    "collection": lambda env: env.from_collection([1, 2]),
    "numbers": lambda env: env.from_source(NumberSequenceSource(1, 9), UNTIMED, "numbers"),
    "numbers with watermarks": lambda env: env.from_source(NumberSequenceSource(1, 9), IN_ORDER, "numbers"),
    "files": lambda env: files(env, strategy=UNTIMED),
    "files with watermarks": files,
    "text file": lambda env: env.read_text_file("/data/in"),
    "kafka": lambda env: kafka(env, strategy=UNTIMED),
    "kafka with watermarks": kafka,
    "consumer": lambda env: env.add_source(_consumer()),
    "function": lambda env: env.add_source(idle(SourceFunction)),
    "socket": lambda env: env.socket_text_stream("localhost", 1),
    "data frame": lambda env: env.from_data_frame([pa.table({"n": [1]})], "frame"),  # type: ignore[arg-type]
}
"""What begins a stream, by what it is."""

# --- operators ---


class Idle:
    """Do nothing, whatever is called."""

    def _nothing(self, *args: Any) -> Any:
        return None

    process_element = process_element1 = process_element2 = process_broadcast_element = _nothing
    map1 = map2 = flat_map1 = flat_map2 = apply = process = invoke = _nothing
    begin_transaction = pre_commit = commit = abort = run = cancel = create_writer = _nothing
    create_accumulator = add = get_result = merge = _nothing

    async def async_invoke(self, value: Any) -> list[Any]:
        """Return nothing."""
        return []


def idle(*bases: type) -> Any:
    """Return an instance of interfaces that does nothing."""
    return type(f"Idle{bases[-1].__name__}", (Idle, *bases), {})()


OPERATOR = (AbstractStreamOperator, OneInputStreamOperator)
TWO_INPUTS = (AbstractStreamOperator, TwoInputStreamOperator)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
SECOND = TumblingEventTimeWindows.of(Time.seconds(1))
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


def keyed(stream: DataStream) -> KeyedStream:
    """Group a stream."""
    return stream.key_by(str)


def loop(stream: DataStream, named: Names) -> DataStream:
    """Close a loop twice."""
    iteration = named(named(stream.map(str)).iterate())
    body: DataStream = named(iteration.map(str))
    iteration.close_with(named(body.filter(bool)))
    iteration.close_with(body.rebalance())
    return body


def rounds(stream: DataStream, named: Names) -> DataStream:
    """Close a loop of rounds that a stream ends."""
    iteration = named(named(stream.map(str)).iterate())
    body = named(iteration.map(str))
    result: DataStream = named(iteration.close_with(body, named(body.filter(bool))))
    return result


def fed_back(stream: DataStream, named: Names) -> DataStream:
    """Close a loop whose feedback is of a type of its own."""
    iteration = named(named(stream.map(str)).iterate())
    connected = iteration.with_feedback_type(None)
    body: DataStream = named(connected.map(idle(CoMapFunction)))
    connected.close_with(body)
    return body


def late(stream: DataStream, named: Names) -> DataStream:
    """Unite the results of windows with what came too late for them."""
    results = named(
        keyed(stream).window(SECOND).side_output_late_data(LATE).evictor(CountEvictor.of(1)).apply(idle(WindowFunction))
    )
    united: DataStream = results.union(named(results.get_side_output(LATE)))
    return united


Step = Callable[[DataStream, DataStream, Names], DataStream]


def _one(call: Callable[[DataStream], Any]) -> Step:
    return lambda stream, _, named: named(call(stream))


def _two(call: Callable[[DataStream, DataStream], Any]) -> Step:
    return lambda stream, other, named: named(call(stream, other))


_SECONDS = Time.seconds(1)

STEPS: dict[str, Step] = {
    "map": _one(lambda s: s.map(str)),
    "flat map": _one(lambda s: s.flat_map(list)),
    "filter": _one(lambda s: s.filter(bool)),
    "process": _one(lambda s: s.process(idle(ProcessFunction))),
    "transform": _one(lambda s: s.transform("Operator", None, idle(*OPERATOR))),
    "watermarks": _one(lambda s: s.assign_timestamps_and_watermarks(IN_ORDER)),
    "rebalanced": _one(lambda s: s.rebalance().map(str)),
    "global": _one(lambda s: s.global_().map(str)),
    "shuffled": _one(lambda s: s.shuffle().map(str)),
    "rescaled": _one(lambda s: s.rescale().map(str)),
    "custom partitions": _one(lambda s: s.partition_custom(lambda key, n: 0, str).map(str)),
    "broadcast": _one(lambda s: s.broadcast().map(str)),
    "cached": _one(lambda s: s.cache().map(str)),
    "projected": lambda s, _, named: named(
        named(s.map(lambda v: (v, v), Types.TUPLE([Types.STRING(), Types.STRING()]))).project(1)
    ),
    "union": lambda s, other, named: named(named(s.map(str)).union(named(other.map(str))).map(str)),
    "side output": lambda s, _, named: named(named(s.process(idle(ProcessFunction))).get_side_output(LATE)),
    "keyed map": _one(lambda s: keyed(s).map(str)),
    "keyed flat map": _one(lambda s: keyed(s).flat_map(list)),
    "keyed filter": _one(lambda s: keyed(s).filter(bool)),
    "keyed process": _one(lambda s: keyed(s).process(idle(KeyedProcessFunction))),
    "keyed transform": _one(lambda s: keyed(s).transform("Operator", None, idle(*OPERATOR))),
    "reduce": _one(lambda s: keyed(s).reduce(lambda a, b: a)),
    "sum": _one(lambda s: keyed(s).sum(0)),
    "min by": _one(lambda s: keyed(s).min_by(0)),
    "map with state": _one(lambda s: keyed(s).map_with_state(lambda value, state: (value, state))),
    "flat map with state": _one(lambda s: keyed(s).flat_map_with_state(lambda value, state: ([value], state))),
    "filter with state": _one(lambda s: keyed(s).filter_with_state(lambda value, state: (True, state))),
    "batches": _one(lambda s: keyed(s).process_batches(lambda batch, state: batch, Types.LONG())),
    "co-map": _two(lambda s, other: s.connect(other).map(idle(CoMapFunction))),
    "co-flat map": _two(lambda s, other: s.connect(other).flat_map(idle(CoFlatMapFunction))),
    "co-process": _two(lambda s, other: s.connect(other).process(idle(CoProcessFunction))),
    "keyed co-process": _two(lambda s, other: s.connect(other).key_by(str, str).process(idle(KeyedCoProcessFunction))),
    "co-transform": _two(lambda s, other: s.connect(other).transform("Two inputs", None, idle(*TWO_INPUTS))),
    "broadcast state": _two(lambda s, other: s.connect(other.broadcast(RULES)).process(idle(BroadcastProcessFunction))),
    "keyed broadcast state": _two(
        lambda s, other: keyed(s).connect(other.broadcast(RULES)).process(idle(KeyedBroadcastProcessFunction))
    ),
    "window reduce": _one(lambda s: keyed(s).window(SECOND).reduce(lambda a, b: a)),
    "window aggregate": _one(lambda s: keyed(s).window(SECOND).aggregate(idle(AggregateFunction))),
    "window process": _one(lambda s: keyed(s).window(SECOND).process(idle(ProcessWindowFunction))),
    "window sum": _one(lambda s: keyed(s).window(SECOND).sum(0)),
    "count window": _one(lambda s: keyed(s).count_window(3, 1).reduce(lambda a, b: a)),
    "late": lambda s, _, named: late(s, named),
    "all windows": _one(lambda s: s.window_all(SECOND).aggregate(idle(AggregateFunction))),
    "all in count windows": _one(lambda s: s.count_window_all(3).reduce(lambda a, b: a)),
    "join": _two(lambda s, other: s.join(other).where(str).equal_to(str).window(SECOND).apply(lambda a, b: a)),
    "co-group": _two(lambda s, other: s.co_group(other).where(str).equal_to(str).window(SECOND).apply(lambda a, b: a)),
    "interval join": _two(
        lambda s, other: keyed(s).interval_join(keyed(other)).between(-1, 1).process(idle(ProcessJoinFunction))
    ),
    "in order": _one(lambda s: AsyncDataStream.ordered_wait(s, idle(AsyncFunction), _SECONDS, 3)),
    "in any order": _one(lambda s: AsyncDataStream.unordered_wait(s, idle(AsyncFunction), _SECONDS, 3)),
    "loop": lambda s, _, named: loop(s, named),
    "rounds": lambda s, _, named: rounds(s, named),
    "feedback": lambda s, _, named: fed_back(s, named),
}
"""What goes on with a stream, given that, another one and a way to name operators; by what it is."""


# --- sinks ---


def _file_sink() -> FileSink:
    return FileSink.for_row_format("/data/out", Encoder.simple_string_encoder()).build()


SINKS: dict[str, Callable[[DataStream], Any]] = {
    "print": lambda s: s.print(),
    "function": lambda s: s.add_sink(idle(SinkFunction)),
    "function that is a sink": lambda s: s.add_sink(idle(Sink, SinkFunction)),
    "two-phase commit": lambda s: s.add_sink(idle(TwoPhaseCommitSinkFunction)),
    "files": lambda s: s.sink_to(_file_sink()),
    "queryable": lambda s: keyed(s).as_queryable_state("last"),
    "data frame": lambda s: s.sink_to_data_frame(lambda frame, commit: None, pa.schema({"value": pa.string()})),
}
"""What ends a stream, by what it is."""

# --- checkpoints ---


def checkpoint_of(graph: JobGraph) -> CheckpointMetadata:
    """Return the metadata of a checkpoint in which each operator that may have state has some.

    The offset of a position is the name of its source.
    """
    names = {node.uid: node.name for node in graph.nodes}
    operators = [
        OperatorMetadata(
            node.uid,
            node.name,
            node.parallelism,
            node.max_parallelism,
            ["total"] if isinstance(node.transformation, KeyedTransformation) else [],
            {"position": ListStateMetadata(DistributionMode.SPLIT, [1])} if node.transformation.hosted else {},
            source_kind=node.transformation.uid_kind if node.transformation.hosted else "",
        )
        for node in graph.nodes
    ]
    positions = [SourcePosition(source.uid, [names[source.uid]], []) for source in graph.cluster_sources]
    return CheckpointMetadata(7, "job", "orders", 0, 5, operators, [], positions, savepoint=True)


def earlier_release(metadata: CheckpointMetadata, **derived: str) -> CheckpointMetadata:
    """Return what a release wrote that had uids of sources with watermarks at the operators which make those.

    Args:
        metadata: What would be written today.
        derived: The uid that was derived for each source, by the one that the program gave.
    """
    operators = []
    for operator in metadata.operators:
        uid = operator.uid.removesuffix(":watermarks")
        if operator.uid in derived:
            operator = msgspec.structs.replace(operator, uid=derived[operator.uid])
        elif uid != operator.uid:
            operator = msgspec.structs.replace(operator, uid=uid, name="Timestamps/Watermarks")
        operators.append(msgspec.structs.replace(operator, source_kind=None))
    positions = [msgspec.structs.replace(p, uid=derived.get(p.uid, p.uid)) for p in metadata.positions]
    return msgspec.structs.replace(metadata, operators=operators, positions=positions)
