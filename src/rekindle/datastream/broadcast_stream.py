"""The broadcast state pattern: a stream connected with one whose records every subtask sees and keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Generic

from rekindle.base.type_variables import R, T1_co, T2_co, T_co
from rekindle.contracts.declared_types import RecordType
from rekindle.contracts.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from rekindle.contracts.state import MapStateDescriptor
from rekindle.contracts.wrong_arguments import Unfinished
from rekindle.datastream.connected_streams import check_one_environment, two_input_stream
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.keyed_stream import KeyedStream, kept_key_type
from rekindle.datastream.type_hints import yielded_type
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.two_inputs import BroadcastTransformation, KeyedBroadcastTransformation

__all__ = ["BroadcastConnectedStream", "BroadcastStream"]


class BroadcastStream(Unfinished, Generic[T_co]):
    """A stream that goes to every subtask, with the states in which its records are kept.

    It can only be connected: ``data.connect(broadcast_stream).process(function)``.
    """

    _next_step = "connect, of another stream,"

    def __init__(
        self, input_stream: DataStream[T_co], broadcast_state_descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        for descriptor in broadcast_state_descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise TypeError(
                    "broadcast_state_descriptor must be MapStateDescriptor, and a "
                    f"{type(descriptor).__name__} was given"
                )
        names = Counter(descriptor.get_name() for descriptor in broadcast_state_descriptors)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise InvalidProgramError(f"two broadcast states have the name {twice[0]!r}; give each one of its own")
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)


class BroadcastConnectedStream(Unfinished, Generic[T1_co, T2_co]):
    """A stream, keyed or not, and a broadcast stream, which one function reads."""

    _next_step = "process"

    def __init__(
        self,
        non_broadcast_stream: DataStream[T1_co],
        broadcast_stream: BroadcastStream[T2_co],
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        check_one_environment(non_broadcast_stream, broadcast_stream.input_stream)
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction[T1_co, T2_co, R] | KeyedBroadcastProcessFunction[Any, T1_co, T2_co, R],
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Run a BroadcastProcessFunction, or, if the data side is keyed, a KeyedBroadcastProcessFunction."""
        data = self.non_broadcast_stream
        transformation: BroadcastTransformation | KeyedBroadcastTransformation
        descriptors = tuple(self.broadcast_state_descriptors)
        if isinstance(func, BroadcastProcessFunction):
            if isinstance(data, KeyedStream):
                raise TypeError(
                    f"BroadcastProcessFunction should be applied to non-keyed DataStream; make {type(func).__name__} a "
                    "KeyedBroadcastProcessFunction, or leave out key_by"
                )
            name = "Co-Process-Broadcast"
            transformation = BroadcastTransformation(func, descriptors)
        elif isinstance(func, KeyedBroadcastProcessFunction):
            if not isinstance(data, KeyedStream):
                raise TypeError(
                    "KeyedBroadcastProcessFunction should be applied to keyed DataStream; call key_by before connect, "
                    f"or make {type(func).__name__} a BroadcastProcessFunction"
                )
            name = "Keyed-Co-Process-Broadcast"
            transformation = KeyedBroadcastTransformation(func, descriptors, key_type=kept_key_type(data))
        else:
            raise TypeError(
                "process takes a BroadcastProcessFunction or a KeyedBroadcastProcessFunction, and was given a "
                f"{type(func).__name__}"
            )
        hints = yielded_type(func.process_element), yielded_type(func.process_broadcast_element)
        hint = hints[0] if hints[0] == hints[1] else None
        return two_input_stream(data, self.broadcast_stream.input_stream, name, transformation, output_type, hint)
