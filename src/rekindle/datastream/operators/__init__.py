"""The operator API, for what functions cannot do: raw state, several timer services, custom watermarks.

Flink has it in Java only; names are those of Flink, in Python's spelling. ``stream.transform`` puts an operator on a
stream.
"""

from __future__ import annotations

from rekindle.contracts.operators.internal_timers import InternalTimer, InternalTimerService, Triggerable
from rekindle.contracts.operators.output import Output
from rekindle.contracts.operators.state_contexts import (
    KeyedStateCheckpointOutputStream,
    KeyGroupStatePartition,
    OperatorStateCheckpointOutputStream,
    StateInitializationContext,
    StateSnapshotContext,
)
from rekindle.contracts.operators.stream_operator import (
    AbstractStreamOperator,
    AbstractUdfStreamOperator,
    OneInputStreamOperator,
    TwoInputStreamOperator,
)
from rekindle.contracts.operators.stream_record import StreamRecord, Watermark
from rekindle.datastream.operators.key_groups import KeyGroupRangeAssignment

__all__ = [
    "AbstractStreamOperator",
    "AbstractUdfStreamOperator",
    "InternalTimer",
    "InternalTimerService",
    "KeyGroupRangeAssignment",
    "KeyGroupStatePartition",
    "KeyedStateCheckpointOutputStream",
    "OneInputStreamOperator",
    "OperatorStateCheckpointOutputStream",
    "Output",
    "StateInitializationContext",
    "StateSnapshotContext",
    "StreamRecord",
    "Triggerable",
    "TwoInputStreamOperator",
    "Watermark",
]
