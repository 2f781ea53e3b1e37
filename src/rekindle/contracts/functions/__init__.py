"""All function interfaces under one roof, as programs import them.

Each kind lives in a module of its own, named in the imports below.
"""

from __future__ import annotations

from rekindle.contracts.functions.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from rekindle.contracts.functions.basic_functions import (
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
from rekindle.contracts.functions.batch_functions import BatchValueState, KeyedBatchFunction
from rekindle.contracts.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedStateFunction,
)
from rekindle.contracts.functions.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from rekindle.contracts.functions.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from rekindle.contracts.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from rekindle.contracts.functions.process_functions import KeyedProcessFunction, ProcessFunction
from rekindle.contracts.functions.rich_function import RichFunction
from rekindle.contracts.functions.runtime_context import KeyedStateStore, RuntimeContext
from rekindle.contracts.functions.sink_function import SinkFunction
from rekindle.contracts.functions.source_function import (
    ParallelSourceFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    SourceFunction,
)
from rekindle.contracts.functions.two_phase_commit import TwoPhaseCommitSinkFunction
from rekindle.contracts.functions.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from rekindle.contracts.functions.write_ahead_sink import CheckpointCommitter, GenericWriteAheadSink
from rekindle.contracts.time.time_domain import TimeDomain
from rekindle.contracts.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BatchValueState",
    "BroadcastProcessFunction",
    "CheckpointCommitter",
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
    "GenericWriteAheadSink",
    "JoinFunction",
    "KeySelector",
    "KeyedBatchFunction",
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
    "TwoPhaseCommitSinkFunction",
    "WindowFunction",
]
