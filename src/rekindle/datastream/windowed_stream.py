"""WindowedStream and AllWindowedStream: streams cut into windows, waiting for what is to be done with each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Self, overload

from rekindle.base.type_variables import ACC, K_co, R, S, T_co, W
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import (
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
from rekindle.contracts.functions.function_adapters import as_reduce_function, refuse_operator_state, require
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.wrong_arguments import with_article, wrong_kind
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.keyed_stream import KeyedStream
from rekindle.datastream.running_aggregates import FieldReductions
from rekindle.datastream.type_hints import returned_type, state_type, yielded_type
from rekindle.datastream.window_settings import WindowSettings, require_instance
from rekindle.graph.transformations.windows import WindowContents, WindowTransformation
from rekindle.types.type_information import TypeInformation

__all__ = ["AllWindowedStream", "WindowedStream"]


class _Windowed(WindowSettings[T_co, W], FieldReductions[T_co], Generic[T_co, W]):
    """Evaluate windows of one stream."""

    _next_step = "reduce, aggregate, apply or process"
    _applied: ClassVar[Any]
    _processed: ClassVar[Any]
    _pass_through: ClassVar[type[Function]]

    def __init__(self, stream: DataStream[T_co], window_assigner: WindowAssigner[T_co, W]) -> None:
        super().__init__(window_assigner)
        self._stream = stream

    def get_execution_environment(self) -> Any:
        """Return the environment this stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the elements of the windows."""
        return self._stream.get_type()

    def side_output_late_data(self, output_tag: OutputTag[T_co]) -> Self:
        """Send elements that come after the allowed lateness to a side output, rather than dropping them."""
        self._late_tag = require_instance(output_tag, OutputTag, "side_output_late_data")
        return self

    def _reduced_windows(
        self, reduce_function: Any, window_function: Any, output_type: RecordType | None
    ) -> DataStream[Any]:
        function = as_reduce_function(reduce_function)
        hint = self._stream._hint or returned_type(function.reduce)
        contents = self._accumulated(function, self._stream._type_info or state_type(hint))
        if window_function is None and output_type is None:
            output_type = self._stream._type_info
        return self._result(contents, window_function, output_type, hint)

    def _aggregated_windows(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: Any,
        accumulator_type: RecordType | None,
        output_type: RecordType | None,
    ) -> DataStream[Any]:
        function: AggregateFunction[Any, Any, Any] = require(aggregate_function, AggregateFunction, "aggregate")
        declared = declared_type(accumulator_type, "accumulator_type of aggregate")
        return self._result(self._accumulated(function, declared), window_function, output_type)

    def _applied_to_windows(self, window_function: Any, output_type: RecordType | None) -> DataStream[Any]:
        function = require(window_function, self._applied, "apply")
        return self._result(self._elements(self._element_type()), function, output_type, yielded_type(function.apply))

    def _processed_windows(self, process_window_function: Any, output_type: RecordType | None) -> DataStream[Any]:
        function = require(process_window_function, self._processed, "process")
        return self._result(self._elements(self._element_type()), function, output_type, yielded_type(function.process))

    def _record_type(self) -> TypeInformation | None:
        return self._stream._type_info

    def _element_type(self) -> TypeInformation | None:
        return self._stream._type_info or state_type(self._stream._hint)

    def _accumulated(
        self, function: ReduceFunction | AggregateFunction, type_info: TypeInformation | None
    ) -> WindowContents:
        refuse_operator_state(function, "reduce and aggregate", "keep the state in the window_function beside it")
        kept = type_info if self._evictor is None else self._element_type()
        return WindowContents(kept, function, self._evictor)

    def _result(
        self,
        contents: WindowContents,
        function: Any,
        output_type: RecordType | None,
        hint: TypeInformation | None = None,
    ) -> DataStream[Any]:
        if function is None:
            function = self._pass_through()
        elif not isinstance(function, (self._applied, self._processed)):
            takes = f"{with_article(self._applied.__name__)} or {with_article(self._processed.__name__)}"
            raise wrong_kind("window_function", takes, function, self._applied)
        windowing = self._windowing(contents, self.get_execution_environment())
        return self._transform(
            type(self._assigner).__name__, WindowTransformation(function, windowing), output_type, hint
        )

    @abstractmethod
    def _transform(
        self,
        name: str,
        transformation: WindowTransformation,
        output_type: RecordType | None,
        hint: TypeInformation | None,
    ) -> DataStream[Any]:
        """Add the operator to the program."""


class WindowedStream(_Windowed[T_co, W], Generic[T_co, K_co, W]):
    """A keyed stream cut into windows: each key has windows of its own."""

    _applied = WindowFunction
    _processed = ProcessWindowFunction
    _pass_through = PassThroughWindowFunction

    def __init__(self, keyed_stream: KeyedStream[T_co, K_co], window_assigner: WindowAssigner[T_co, W]) -> None:
        """Cut a keyed stream into windows; programs call ``KeyedStream.window``."""
        super().__init__(keyed_stream, window_assigner)

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[T_co]: ...

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: WindowFunction[T_co, R, K_co, W] | ProcessWindowFunction[T_co, R, K_co, W],
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        window_function: Any = None,
        output_type: RecordType | None = None,
    ) -> DataStream[Any]:
        """Combine the elements of each window; only the combination is kept.

        Args:
            reduce_function: Combines two elements into one.
            window_function: Makes the results out of the combination; without it, that is the result.
            output_type: The type of the results.
        """
        return self._reduced_windows(reduce_function, window_function, output_type)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, ACC, R],
        window_function: None = None,
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, ACC, S],
        window_function: WindowFunction[S, R, K_co, W] | ProcessWindowFunction[S, R, K_co, W],
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: Any = None,
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[Any]:
        """Aggregate the elements of each window; only the accumulator is kept.

        Args:
            aggregate_function: Computes the aggregate.
            window_function: Makes the results out of the aggregate; without it, that is the result.
            accumulator_type: The type of the accumulator; pickled Python objects if None.
            output_type: The type of the results.
        """
        return self._aggregated_windows(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: WindowFunction[T_co, R, K_co, W], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Call a function with all elements of each window."""
        return self._applied_to_windows(window_function, output_type)

    def process(
        self, process_window_function: ProcessWindowFunction[T_co, R, K_co, W], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Call a function with all elements of each window, with access to time and state."""
        return self._processed_windows(process_window_function, output_type)

    def _transform(
        self,
        name: str,
        transformation: WindowTransformation,
        output_type: RecordType | None,
        hint: TypeInformation | None,
    ) -> DataStream[Any]:
        return self._stream._transform(name, transformation, output_type, hint)


class AllWindowedStream(_Windowed[T_co, W], Generic[T_co, W]):
    """A stream without a key cut into windows: all elements go to one subtask."""

    _applied = AllWindowFunction
    _processed = ProcessAllWindowFunction
    _pass_through = PassThroughAllWindowFunction

    def __init__(self, data_stream: DataStream[T_co], window_assigner: WindowAssigner[T_co, W]) -> None:
        """Cut a stream into windows; programs call ``DataStream.window_all``."""
        super().__init__(data_stream, window_assigner)

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[T_co]: ...

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: AllWindowFunction[T_co, R, W] | ProcessAllWindowFunction[T_co, R, W],
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        window_function: Any = None,
        output_type: RecordType | None = None,
    ) -> DataStream[Any]:
        """Combine the elements of each window; only the combination is kept.

        Args:
            reduce_function: Combines two elements into one.
            window_function: Makes the results out of the combination; without it, that is the result.
            output_type: The type of the results.
        """
        return self._reduced_windows(reduce_function, window_function, output_type)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, ACC, R],
        window_function: None = None,
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, ACC, S],
        window_function: AllWindowFunction[S, R, W] | ProcessAllWindowFunction[S, R, W],
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[R]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: Any = None,
        accumulator_type: RecordType | None = None,
        output_type: RecordType | None = None,
    ) -> DataStream[Any]:
        """Aggregate the elements of each window; only the accumulator is kept.

        Args:
            aggregate_function: Computes the aggregate.
            window_function: Makes the results out of the aggregate; without it, that is the result.
            accumulator_type: The type of the accumulator; pickled Python objects if None.
            output_type: The type of the results.
        """
        return self._aggregated_windows(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: AllWindowFunction[T_co, R, W], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Call a function with all elements of each window."""
        return self._applied_to_windows(window_function, output_type)

    def process(
        self, process_window_function: ProcessAllWindowFunction[T_co, R, W], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Call a function with all elements of each window, with access to time and state."""
        return self._processed_windows(process_window_function, output_type)

    def _transform(
        self,
        name: str,
        transformation: WindowTransformation,
        output_type: RecordType | None,
        hint: TypeInformation | None,
    ) -> DataStream[Any]:
        keyed = self._stream.key_by(NullByteKeySelector())
        return keyed._transform(name, transformation, output_type, hint).force_non_parallel()
