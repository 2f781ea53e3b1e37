"""WindowedStream and AllWindowedStream: streams cut into windows, waiting for what is to be done with each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

from rekindle.common.time import Duration, Time, duration_to_millis
from rekindle.common.type_information import TypeInformation
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.declared_types import RecordType, declared_type
from rekindle.datastream.function_adapters import as_reduce_function, require
from rekindle.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    NullByteKeySelector,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from rekindle.datastream.keyed_stream import KeyedStream
from rekindle.datastream.output_tag import OutputTag
from rekindle.datastream.type_hints import returned_type, state_type, yielded_type
from rekindle.datastream.windowing.assigner import MergingWindowAssigner, WindowAssigner
from rekindle.datastream.windowing.evictors import Evictor
from rekindle.datastream.windowing.trigger import Trigger
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.runtime.operators.window import Windowing, WindowOperator
from rekindle.runtime.operators.window_contents import (
    AccumulatedContents,
    ElementContents,
    EvictedContents,
    WindowContents,
)

__all__ = ["AllWindowedStream", "WindowedStream"]

TimeAmount = Time | Duration | int
"""What says how long something takes; an int is a number of milliseconds."""


class _Windowed:
    """Collect how windows are made and evaluated."""

    _applied: ClassVar[Any]
    _processed: ClassVar[Any]
    _pass_through: ClassVar[type[Function]]

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._stream = stream
        self._assigner: WindowAssigner[Any, Any] = _instance(window_assigner, WindowAssigner, "window")
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> Any:
        """Return the environment this stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the elements of the windows."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set when windows fire, instead of the assigner's own trigger."""
        given: Trigger[Any, Any] = _instance(trigger, Trigger, "trigger")
        if isinstance(self._assigner, MergingWindowAssigner) and not given.can_merge():
            raise InvalidProgramError(
                f"{type(given).__name__} cannot be used with {self._assigner!r}, whose windows merge: its can_merge() "
                "is False"
            )
        self._trigger = given
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set what drops elements of windows that fire. All elements are kept until then, also with reduce."""
        self._evictor = _instance(evictor, Evictor, "evictor")
        return self

    def allowed_lateness(self, time_ms: TimeAmount) -> Self:
        """Keep windows in event time after their end, so that late elements still count.

        Args:
            time_ms: For how long; elements that come later still are dropped, or go to a side output.
        """
        lateness = duration_to_millis(time_ms, "time_ms")
        if lateness < 0:
            raise ConfigurationError(f"the allowed lateness must not be negative, got {lateness} ms")
        self._lateness = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send elements that come after the allowed lateness to a side output, rather than dropping them."""
        self._late_tag = _instance(output_tag, OutputTag, "side_output_late_data")
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: RecordType | None = None,
    ) -> DataStream:
        """Combine the elements of each window; only the combination is kept.

        Args:
            reduce_function: Combines two elements into one.
            window_function: Makes the results out of the combination; without it, that is the result.
            output_type: The type of the results.
        """
        function = as_reduce_function(reduce_function)
        hint = self._stream._hint or returned_type(function.reduce)
        contents = self._accumulated(function, self._stream._type_info or state_type(hint))
        if window_function is None and output_type is None:
            output_type = self._stream._type_info
        return self._result(contents, window_function, output_type, hint)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream:
        """Aggregate the elements of each window; only the accumulator is kept.

        Args:
            aggregate_function: Computes the aggregate.
            window_function: Makes the results out of the aggregate; without it, that is the result.
            accumulator_type: The type of the accumulator; pickled Python objects if None.
            output_type: The type of the results.
        """
        function = require(aggregate_function, AggregateFunction, "aggregate")
        declared = declared_type(accumulator_type, "accumulator_type of aggregate")
        return self._result(self._accumulated(function, declared), window_function, output_type)

    def apply(self, window_function: Any, output_type: RecordType | None = None) -> DataStream:
        """Call a function with all elements of each window."""
        function = require(window_function, self._applied, "apply")
        return self._result(self._elements(), function, output_type, yielded_type(function.apply))

    def process(self, process_window_function: Any, output_type: RecordType | None = None) -> DataStream:
        """Call a function with all elements of each window, with access to time and state."""
        function = require(process_window_function, self._processed, "process")
        return self._result(self._elements(), function, output_type, yielded_type(function.process))

    def _elements(self) -> WindowContents:
        type_info = self._stream._type_info or state_type(self._stream._hint)
        return ElementContents(type_info) if self._evictor is None else EvictedContents(self._evictor, type_info)

    def _accumulated(
        self, function: ReduceFunction | AggregateFunction, type_info: TypeInformation | None
    ) -> WindowContents:
        if self._evictor is None:
            return AccumulatedContents(function, type_info)
        return EvictedContents(self._evictor, self._stream._type_info or state_type(self._stream._hint), function)

    def _result(
        self,
        contents: WindowContents,
        function: Any,
        output_type: RecordType | None,
        hint: TypeInformation | None = None,
    ) -> DataStream:
        if function is None:
            function = self._pass_through()
        elif not isinstance(function, (self._applied, self._processed)):
            raise TypeError(
                f"window_function must be a {self._applied.__name__} or a {self._processed.__name__}, and is a "
                f"{type(function).__name__}"
            )
        trigger = self._trigger or self._assigner.get_default_trigger(self.get_execution_environment())
        windowing = Windowing(self._assigner, trigger, contents, self._lateness, self._late_tag)
        return self._transform(type(self._assigner).__name__, WindowOperator(windowing, function), output_type, hint)

    @abstractmethod
    def _transform(
        self, name: str, operator: WindowOperator, output_type: RecordType | None, hint: TypeInformation | None
    ) -> DataStream:
        """Add the operator to the program."""


class WindowedStream(_Windowed):
    """A keyed stream cut into windows: each key has windows of its own."""

    _applied = WindowFunction
    _processed = ProcessWindowFunction
    _pass_through = PassThroughWindowFunction

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        """Cut a keyed stream into windows; programs call ``KeyedStream.window``."""
        super().__init__(keyed_stream, window_assigner)

    def _transform(
        self, name: str, operator: WindowOperator, output_type: RecordType | None, hint: TypeInformation | None
    ) -> DataStream:
        return self._stream._transform(name, operator, output_type, hint)


class AllWindowedStream(_Windowed):
    """A stream without a key cut into windows: all elements go to one subtask."""

    _applied = AllWindowFunction
    _processed = ProcessAllWindowFunction
    _pass_through = PassThroughAllWindowFunction

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        """Cut a stream into windows; programs call ``DataStream.window_all``."""
        super().__init__(data_stream, window_assigner)

    def _transform(
        self, name: str, operator: WindowOperator, output_type: RecordType | None, hint: TypeInformation | None
    ) -> DataStream:
        keyed = self._stream.key_by(NullByteKeySelector())
        return keyed._transform(name, operator, output_type, hint).force_non_parallel()


def _instance(given: Any, kind: type, method: str) -> Any:
    if not isinstance(given, kind):
        raise TypeError(f"{method} takes a {kind.__name__}, and was given a {type(given).__name__}")
    return given
