"""Windows, their assigners, triggers and evictors: the counterpart of ``pyflink.datastream.window``.

They are defined in :mod:`rekindle.contracts.windowing`.
"""

from __future__ import annotations

from rekindle.base.time import Time as Time
from rekindle.contracts.functions import ReduceFunction as ReduceFunction
from rekindle.contracts.functions import RuntimeContext as RuntimeContext
from rekindle.contracts.output_tag import OutputTag as OutputTag
from rekindle.contracts.state import ReducingState as ReducingState
from rekindle.contracts.state import ReducingStateDescriptor as ReducingStateDescriptor
from rekindle.contracts.state import State as State
from rekindle.contracts.state import StateDescriptor as StateDescriptor
from rekindle.contracts.state import ValueStateDescriptor as ValueStateDescriptor
from rekindle.contracts.windowing.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from rekindle.contracts.windowing.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from rekindle.contracts.windowing.count_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    GlobalWindows,
)
from rekindle.contracts.windowing.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)
from rekindle.contracts.windowing.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from rekindle.contracts.windowing.session_assigners import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from rekindle.contracts.windowing.time_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from rekindle.contracts.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from rekindle.contracts.windowing.trigger import Trigger, TriggerResult
from rekindle.contracts.windowing.triggers import CountTrigger, NeverTrigger, PurgingTrigger
from rekindle.contracts.windowing.windows import CountWindow, GlobalWindow, TimeWindow, Window
from rekindle.types.type_serializer import TypeSerializer as TypeSerializer
from rekindle.types.typeinfo import Types as Types

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
]
