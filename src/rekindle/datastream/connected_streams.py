"""ConnectedStreams: two streams whose records go into one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import K, R, T1_co, T2_co
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    Function,
    KeyedCoProcessFunction,
    KeySelector,
)
from rekindle.contracts.functions.function_adapters import require
from rekindle.contracts.wrong_arguments import Unfinished, wrong_kind
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.keyed_stream import KeyedStream, kept_key_type
from rekindle.datastream.type_hints import returned_type, yielded_type
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.one_input import two_input
from rekindle.graph.transformations.transformation import Transformation
from rekindle.graph.transformations.two_inputs import CoTransformation, KeyedCoTransformation
from rekindle.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from rekindle.datastream.operators import TwoInputStreamOperator
    from rekindle.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["ConnectedStreams"]


class ConnectedStreams(Unfinished, Generic[T1_co, T2_co]):
    """Two streams, of any types, that one function reads; its state is shared by both.

    Nothing is promised about the order in which records of the two arrive.
    """

    _next_step = "map, flat_map or process"

    def __init__(self, stream1: DataStream[T1_co], stream2: DataStream[T2_co]) -> None:
        check_one_environment(stream1, stream2)
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[T1_co], K] | KeySelector[T1_co, K],
        key_selector2: Callable[[T2_co], K] | KeySelector[T2_co, K],
        key_type: RecordType | None = None,
    ) -> ConnectedStreams[T1_co, T2_co]:
        """Group both streams by keys: records of one key, from either, go to the same subtask and share state.

        Args:
            key_selector1: Gives the key of a record of the first stream.
            key_selector2: Gives the key of a record of the second stream.
            key_type: The type of the keys of both.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction[T1_co, T2_co, R], output_type: RecordType | None = None) -> DataStream[R]:
        """Turn each record of either stream into one; None is no result."""
        function: CoMapFunction[T1_co, T2_co, R] = require(func, CoMapFunction, "map on connected streams")
        hints = returned_type(function.map1), returned_type(function.map2)
        return self._transform("Co-Map", function, output_type, hints)

    def flat_map(
        self, func: CoFlatMapFunction[T1_co, T2_co, R], output_type: RecordType | None = None
    ) -> DataStream[R]:
        """Turn each record of either stream into any number."""
        function: CoFlatMapFunction[T1_co, T2_co, R] = require(func, CoFlatMapFunction, "flat_map on connected streams")
        hints = yielded_type(function.flat_map1), yielded_type(function.flat_map2)
        return self._transform("Co-Flat Map", function, output_type, hints)

    def process(
        self,
        func: CoProcessFunction[T1_co, T2_co, R] | KeyedCoProcessFunction[Any, T1_co, T2_co, R],
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Run a CoProcessFunction over both streams, or, if they are keyed, a KeyedCoProcessFunction."""
        if not isinstance(func, CoProcessFunction | KeyedCoProcessFunction):
            raise TypeError(
                "process on connected streams takes a CoProcessFunction or a KeyedCoProcessFunction, and was given a "
                f"{type(func).__name__}"
            )
        keyed = self._keyed()
        if isinstance(func, KeyedCoProcessFunction) and not keyed:
            raise TypeError(
                f"{type(func).__name__} is a KeyedCoProcessFunction, and the connected streams have no keys; call "
                "key_by(selector1, selector2) before process, or use a CoProcessFunction"
            )
        hints = yielded_type(func.process_element1), yielded_type(func.process_element2)
        return self._transform("Keyed Co-Process" if keyed else "Co-Process", func, output_type, hints)

    def transform(
        self, operator_name: str, output_type: RecordType | None, operator: TwoInputStreamOperator
    ) -> DataStream[Any]:
        """Put a custom operator on both streams; see ``rekindle.datastream.operators``.

        Args:
            operator_name: The operator's name.
            output_type: The type of the records it emits; None: any Python object.
            operator: An AbstractStreamOperator with two inputs.
        """
        custom = two_input(operator, self._keyed())
        if isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream):
            custom = replace(custom, key_type=kept_key_type(self.stream1, self.stream2))
        return two_input_stream(self.stream1, self.stream2, operator_name, custom, output_type, None)

    def _keyed(self) -> bool:
        """Return whether both streams are keyed; raise if only one is."""
        first, second = self.stream1, self.stream2
        if isinstance(first, KeyedStream) and isinstance(second, KeyedStream):
            check_one_key_type(first, second)
            return True
        if isinstance(first, KeyedStream) or isinstance(second, KeyedStream):
            raise InvalidProgramError(
                "one of the connected streams is keyed and the other is not; call key_by(selector1, selector2) on the "
                "connected streams, or connect the streams before their key_by"
            )
        return False

    def _transform(
        self,
        name: str,
        function: Function,
        output_type: RecordType | None,
        hints: tuple[TypeInformation | None, TypeInformation | None],
    ) -> DataStream[Any]:
        transformation: CoTransformation | KeyedCoTransformation
        if self._keyed():
            assert isinstance(self.stream1, KeyedStream)
            assert isinstance(self.stream2, KeyedStream)
            key_type = kept_key_type(self.stream1, self.stream2)
            transformation = KeyedCoTransformation(function, key_type=key_type)
        else:
            transformation = CoTransformation(function)
        hint = hints[0] if hints[0] == hints[1] else None
        return two_input_stream(self.stream1, self.stream2, name, transformation, output_type, hint)


def two_input_stream(
    first: DataStream,
    second: DataStream,
    name: str,
    transformation: Transformation,
    output_type: RecordType | None,
    hint: TypeInformation | None,
) -> DataStream[Any]:
    """Add an operator with two inputs; give the stream of its results."""
    type_info = declared_type(output_type, f"output_type of {name}")
    environment: StreamExecutionEnvironment = first._environment
    inputs = (*first._inputs, *(replace(edge, side=1) for edge in second._inputs))
    node = environment._graph.add(name, transformation, inputs)
    return DataStream(environment, (StreamEdge(node.id, FORWARD, type_info),), node, type_info, hint)


def check_one_environment(
    first: DataStream, second: DataStream, method: str = "connect", takes: str = "a DataStream or a BroadcastStream"
) -> None:
    """Raise unless two streams belong to one program."""
    for stream in (first, second):
        if not isinstance(stream, DataStream):
            raise wrong_kind(method, takes, stream, DataStream)
    if first._environment is not second._environment:
        raise InvalidProgramError(f"{method} takes streams of one environment, and was given streams of two")


def check_one_key_type(first: KeyedStream, second: KeyedStream) -> None:
    """Raise unless the keys of two streams are of one type."""
    if first._key_type != second._key_type:
        raise InvalidProgramError(
            f"the keys of connected streams must be of one type, and these are of {first._key_type} and "
            f"{second._key_type}; give both key_by the same key_type"
        )
