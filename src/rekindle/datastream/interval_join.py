"""IntervalJoin and IntervalJoined: two keyed streams whose elements meet when their timestamps are close."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, Self

from rekindle.base.time import duration_to_millis
from rekindle.base.type_variables import R, T1_co, T2_co
from rekindle.contracts.declared_types import RecordType
from rekindle.contracts.functions import ProcessJoinFunction
from rekindle.contracts.functions.function_adapters import require
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.wrong_arguments import Unfinished
from rekindle.datastream.connected_streams import check_one_environment, check_one_key_type, two_input_stream
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.keyed_stream import KeyedStream, kept_key_type
from rekindle.datastream.type_hints import state_type, yielded_type
from rekindle.datastream.window_settings import TimeAmount, require_instance
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.transformations.two_inputs import Interval, IntervalJoinTransformation, JoinSide

__all__ = ["IntervalJoin", "IntervalJoined"]


class IntervalJoin(Unfinished, Generic[T1_co, T2_co]):
    """Two keyed streams, waiting for how far apart in time the elements of a pair may be."""

    _next_step = "between(lower_bound, upper_bound)"

    def __init__(self, stream_one: KeyedStream[T1_co, Any], stream_two: KeyedStream[T2_co, Any]) -> None:
        check_one_environment(stream_one, stream_two, "interval_join", "a KeyedStream")
        if not isinstance(stream_two, KeyedStream):
            raise TypeError(
                f"interval_join takes a KeyedStream, and was given a {type(stream_two).__name__}: call key_by on it"
            )
        check_one_key_type(stream_one, stream_two)
        self._streams = stream_one, stream_two
        self._event_time = True

    def in_event_time(self) -> Self:
        """Go by the timestamps of the elements: the default, and all there is."""
        self._event_time = True
        return self

    def in_processing_time(self) -> Self:
        """Go by the time at which elements arrive, which ``between`` refuses, as in Flink."""
        self._event_time = False
        return self

    def between(self, lower_bound: TimeAmount, upper_bound: TimeAmount) -> IntervalJoined[T1_co, T2_co]:
        """Join an element of the first stream with those of the second from a bound before or after it to another.

        Args:
            lower_bound: The least that ``right.timestamp - left.timestamp`` may be; below 0 is before.
            upper_bound: The most that it may be.
        """
        if not self._event_time:
            self._refuse_processing_time()
        lower = duration_to_millis(lower_bound, "lower_bound")
        upper = duration_to_millis(upper_bound, "upper_bound")
        if lower > upper:
            raise ConfigurationError(
                f"the lower bound of an interval join must not be above the upper one, got {lower} ms and {upper} ms"
            )
        return IntervalJoined(*self._streams, lower, upper)

    def _refuse_processing_time(self) -> NoReturn:
        raise InvalidProgramError(
            "Time-bounded stream joins are only supported in event time: omit in_processing_time(), and give the "
            "streams timestamps with assign_timestamps_and_watermarks"
        )


class IntervalJoined(Unfinished, Generic[T1_co, T2_co]):
    """Two keyed streams and an interval, waiting for what is to be done with each pair."""

    _next_step = "process"

    def __init__(
        self, left: KeyedStream[T1_co, Any], right: KeyedStream[T2_co, Any], lower_bound: int, upper_bound: int
    ) -> None:
        self._streams = left, right
        self._bounds = lower_bound, upper_bound
        self._exclusive = [0, 0]
        self._late_tags: list[OutputTag | None] = [None, None]

    def lower_bound_exclusive(self) -> Self:
        """Leave pairs out that are as far apart as the lower bound."""
        self._exclusive[0] = 1
        return self

    def upper_bound_exclusive(self) -> Self:
        """Leave pairs out that are as far apart as the upper bound."""
        self._exclusive[1] = 1
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[T1_co]) -> Self:
        """Send late elements of the first stream to a side output, rather than dropping them."""
        self._late_tags[0] = require_instance(output_tag, OutputTag, "side_output_left_late_data")
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[T2_co]) -> Self:
        """Send late elements of the second stream to a side output, rather than dropping them."""
        self._late_tags[1] = require_instance(output_tag, OutputTag, "side_output_right_late_data")
        return self

    def process(
        self, process_join_function: ProcessJoinFunction[T1_co, T2_co, R], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Call a function for each pair; its results have the later timestamp of the two.

        Args:
            process_join_function: The function.
            output_type: The type of the results.
        """
        function: ProcessJoinFunction[T1_co, T2_co, R] = require(
            process_join_function, ProcessJoinFunction, "process on an interval join"
        )
        interval = Interval(self._bounds[0] + self._exclusive[0], self._bounds[1] - self._exclusive[1])
        left, right = (
            JoinSide(stream._type_info or state_type(stream._hint), tag)
            for stream, tag in zip(self._streams, self._late_tags, strict=True)
        )
        key_type = kept_key_type(*self._streams)
        transformation = IntervalJoinTransformation(function, interval, left, right, key_type=key_type)
        hint = yielded_type(function.process_element)
        return two_input_stream(*self._streams, "Interval Join", transformation, output_type, hint)
