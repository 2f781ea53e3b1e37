"""Streams, functions, state and the environment that runs them: the counterpart of ``pyflink.datastream``.

Names are imported when they are first used: a slot needs a few of these modules and should not load them all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rekindle.checkpoint.settings.checkpoint_config import CheckpointConfig
    from rekindle.checkpoint.settings.checkpoint_storage import (
        CheckpointStorage,
        CustomCheckpointStorage,
        FileSystemCheckpointStorage,
        JobManagerCheckpointStorage,
    )
    from rekindle.checkpoint.settings.state_backend import (
        CustomStateBackend,
        EmbeddedRocksDBStateBackend,
        FsStateBackend,
        HashMapStateBackend,
        MemoryStateBackend,
        PredefinedOptions,
        RocksDBStateBackend,
        StateBackend,
    )
    from rekindle.contracts.checkpointing_mode import CheckpointingMode
    from rekindle.contracts.externalized_checkpoint_retention import (
        ExternalizedCheckpointCleanup,
        ExternalizedCheckpointRetention,
    )
    from rekindle.contracts.functions import (
        AggregateFunction,
        AsyncFunction,
        AsyncRetryPredicate,
        AsyncRetryStrategy,
        BroadcastProcessFunction,
        CoFlatMapFunction,
        CoGroupFunction,
        CoMapFunction,
        CoProcessFunction,
        FilterFunction,
        FlatJoinFunction,
        FlatMapFunction,
        JoinFunction,
        KeyedBatchFunction,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        KeySelector,
        MapFunction,
        Partitioner,
        ProcessFunction,
        ProcessJoinFunction,
        ProcessWindowFunction,
        ReduceFunction,
        RuntimeContext,
        SinkFunction,
        SourceFunction,
        WindowFunction,
    )
    from rekindle.contracts.output_tag import OutputTag
    from rekindle.contracts.runtime_execution_mode import RuntimeExecutionMode
    from rekindle.contracts.time.time_domain import TimeDomain
    from rekindle.contracts.time.timer_service import TimerService
    from rekindle.datastream.arrow_rows import rows_of
    from rekindle.datastream.async_data_stream import AsyncDataStream
    from rekindle.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from rekindle.datastream.cached_data_stream import CachedDataStream
    from rekindle.datastream.closeable_iterator import CloseableIterator
    from rekindle.datastream.connected_streams import ConnectedStreams
    from rekindle.datastream.data_stream import DataStream
    from rekindle.datastream.data_stream_sink import DataStreamSink
    from rekindle.datastream.interval_join import IntervalJoin, IntervalJoined
    from rekindle.datastream.iterative_stream import ConnectedIterativeStreams, IterativeStream
    from rekindle.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from rekindle.datastream.keyed_stream import KeyedStream
    from rekindle.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
    from rekindle.datastream.stream_execution_environment import StreamExecutionEnvironment
    from rekindle.datastream.time_characteristic import TimeCharacteristic
    from rekindle.datastream.window import (
        CountWindow,
        GlobalWindow,
        MergingWindowAssigner,
        TimeWindow,
        Trigger,
        TriggerResult,
        Window,
        WindowAssigner,
    )
    from rekindle.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AggregateFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CachedDataStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedIterativeStreams",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointCleanup",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FsStateBackend",
    "GlobalWindow",
    "HashMapStateBackend",
    "IntervalJoin",
    "IntervalJoined",
    "IterativeStream",
    "JobManagerCheckpointStorage",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBatchFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "MemoryStateBackend",
    "MergingWindowAssigner",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RocksDBStateBackend",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "rows_of",
]
_MODULES = {
    "async_data_stream": ("AsyncDataStream",),
    "broadcast_stream": ("BroadcastConnectedStream", "BroadcastStream"),
    "cached_data_stream": ("CachedDataStream",),
    "checkpoint_config": ("CheckpointConfig",),
    "checkpoint_storage": (
        "CheckpointStorage",
        "CustomCheckpointStorage",
        "FileSystemCheckpointStorage",
        "JobManagerCheckpointStorage",
    ),
    "checkpointing_mode": ("CheckpointingMode",),
    "closeable_iterator": ("CloseableIterator",),
    "connected_streams": ("ConnectedStreams",),
    "data_stream": ("DataStream",),
    "data_stream_sink": ("DataStreamSink",),
    "execution_mode": ("RuntimeExecutionMode",),
    "externalized_checkpoint_retention": ("ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"),
    "functions": (
        "AggregateFunction",
        "AsyncFunction",
        "AsyncRetryPredicate",
        "AsyncRetryStrategy",
        "BroadcastProcessFunction",
        "CoFlatMapFunction",
        "CoGroupFunction",
        "CoMapFunction",
        "CoProcessFunction",
        "FilterFunction",
        "FlatJoinFunction",
        "FlatMapFunction",
        "JoinFunction",
        "KeySelector",
        "KeyedBatchFunction",
        "KeyedBroadcastProcessFunction",
        "KeyedCoProcessFunction",
        "KeyedProcessFunction",
        "MapFunction",
        "Partitioner",
        "ProcessFunction",
        "ProcessJoinFunction",
        "ProcessWindowFunction",
        "ReduceFunction",
        "RuntimeContext",
        "SinkFunction",
        "SourceFunction",
        "WindowFunction",
    ),
    "interval_join": ("IntervalJoin", "IntervalJoined"),
    "joined_streams": ("CoGroupedStreams", "JoinedStreams"),
    "iterative_stream": ("ConnectedIterativeStreams", "IterativeStream"),
    "keyed_stream": ("KeyedStream",),
    "arrow_rows": ("rows_of",),
    "output_tag": ("OutputTag",),
    "slot_sharing_group": ("MemorySize", "SlotSharingGroup"),
    "state_backend": (
        "CustomStateBackend",
        "EmbeddedRocksDBStateBackend",
        "FsStateBackend",
        "HashMapStateBackend",
        "MemoryStateBackend",
        "PredefinedOptions",
        "RocksDBStateBackend",
        "StateBackend",
    ),
    "stream_execution_environment": ("StreamExecutionEnvironment",),
    "time_characteristic": ("TimeCharacteristic",),
    "time_domain": ("TimeDomain",),
    "timerservice": ("TimerService",),
    "window": (
        "CountWindow",
        "GlobalWindow",
        "MergingWindowAssigner",
        "TimeWindow",
        "Trigger",
        "TriggerResult",
        "Window",
        "WindowAssigner",
    ),
    "windowed_stream": ("AllWindowedStream", "WindowedStream"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
