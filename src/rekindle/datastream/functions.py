"""All function interfaces under one roof, as programs import them.

Each kind lives in a module of its own, named in the imports below.
"""

from __future__ import annotations

from rekindle.datastream.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from rekindle.datastream.basic_functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    FoldFunction,
    Function,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ReduceFunction,
)
from rekindle.datastream.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedStateFunction,
)
from rekindle.datastream.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from rekindle.datastream.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from rekindle.datastream.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from rekindle.datastream.process_functions import KeyedProcessFunction, ProcessFunction
from rekindle.datastream.rich_function import RichFunction
from rekindle.datastream.runtime_context import KeyedStateStore, RuntimeContext
from rekindle.datastream.sink_function import SinkFunction
from rekindle.datastream.source_function import (
    ParallelSourceFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    SourceFunction,
)
from rekindle.datastream.time_domain import TimeDomain
from rekindle.datastream.timerservice import TimerService
from rekindle.datastream.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointListener",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FoldFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateFunction",
    "KeyedStateStore",
    "ListCheckpointed",
    "MapFunction",
    "NullByteKeySelector",
    "ParallelSourceFunction",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RichFunction",
    "RichParallelSourceFunction",
    "RichSourceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
]
