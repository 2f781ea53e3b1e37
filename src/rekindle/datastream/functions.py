"""The counterpart of ``pyflink.datastream.functions``."""

from __future__ import annotations

from rekindle.contracts.functions import *  # noqa: F403 - a face has all names of what it shows
from rekindle.contracts.functions import __all__ as __all__
from rekindle.contracts.state import AggregatingState as AggregatingState
from rekindle.contracts.state import AggregatingStateDescriptor as AggregatingStateDescriptor
from rekindle.contracts.state import BroadcastState as BroadcastState
from rekindle.contracts.state import ListState as ListState
from rekindle.contracts.state import ListStateDescriptor as ListStateDescriptor
from rekindle.contracts.state import MapState as MapState
from rekindle.contracts.state import MapStateDescriptor as MapStateDescriptor
from rekindle.contracts.state import ReadOnlyBroadcastState as ReadOnlyBroadcastState
from rekindle.contracts.state import ReducingState as ReducingState
from rekindle.contracts.state import ReducingStateDescriptor as ReducingStateDescriptor
from rekindle.contracts.state import ValueState as ValueState
from rekindle.contracts.state import ValueStateDescriptor as ValueStateDescriptor
