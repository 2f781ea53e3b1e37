"""JoinedStreams and CoGroupedStreams: two streams whose elements meet in windows.

A program names the keys and the windows step by step, as in Flink::

    first.join(second).where(key).equal_to(key).window(assigner).apply(function)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic

from typing_extensions import TypeVar

from rekindle.base.type_variables import K, R, T1_co, T2_co
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions import CoGroupFunction, FlatJoinFunction, Function, JoinFunction, KeySelector
from rekindle.contracts.functions.function_adapters import as_co_group_function, as_join_function
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.wrong_arguments import Unfinished
from rekindle.datastream.connected_streams import check_one_environment, two_input_stream
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.keyed_stream import KeyedStream, kept_key_type
from rekindle.datastream.type_hints import returned_type, state_type, yielded_type
from rekindle.datastream.window_settings import WindowSettings
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.windows import CoGroupTransformation
from rekindle.serialization.composites.tagged_union_serializer import TaggedUnionSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.class_typeinfo import SerializerTypeInfo
from rekindle.types.typeinfo import TypeInformation, Types

__all__ = ["CoGroupedStreams", "JoinedStreams"]

_Selector = Callable[[Any], Any] | KeySelector[Any, Any]
_WithWindow_co = TypeVar("_WithWindow_co", covariant=True, default=Any)
"""What follows ``window``: the windows of a join, or those of a co-group."""


class WithWindow(WindowSettings[Any, Any], Generic[T1_co, T2_co]):
    """Two streams with keys and windows, waiting for what is to be done with each window.

    Assigners, triggers and evictors see an element as ``(0, element)`` if it is of the first stream, and as
    ``(1, element)`` if it is of the second.
    """

    _next_step = "apply"

    def __init__(self, keyed: EqualTo[Any], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(window_assigner)
        self._keyed = keyed

    @abstractmethod
    def apply(self, function: Any, output_type: RecordType | None = None) -> DataStream[Any]:
        """Call a function for what is in each window; results have the last timestamp of the window."""

    def _result(
        self, name: str, function: Function, output_type: RecordType | None, hint: TypeInformation | None
    ) -> DataStream[Any]:
        first, second = self._keyed.streams
        contents = self._elements(_tagged_type(first, second))
        windowing = self._windowing(contents, first.get_execution_environment())
        inputs = self._keyed.keyed()
        transformation = CoGroupTransformation(function, windowing, key_type=kept_key_type(*inputs))
        return two_input_stream(*inputs, name, transformation, output_type, hint)


class _WithWindowJoin(WithWindow[T1_co, T2_co]):
    """Joined streams with keys and windows."""

    def apply(
        self,
        function: JoinFunction[T1_co, T2_co, R] | FlatJoinFunction[T1_co, T2_co, R] | Callable[[T1_co, T2_co], R],
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Call a function for each pair of elements that have one key and are in one window.

        Args:
            function: A JoinFunction, a FlatJoinFunction, or a callable that returns the result for a pair.
            output_type: The type of the results.
        """
        joining = as_join_function(function)
        hint = yielded_type(joining.join) if isinstance(joining, FlatJoinFunction) else returned_type(joining.join)
        return self._result("Join", joining, output_type, hint)


class _WithWindowCoGroup(WithWindow[T1_co, T2_co]):
    """Co-grouped streams with keys and windows."""

    def apply(
        self,
        function: CoGroupFunction[T1_co, T2_co, R] | Callable[[list[T1_co], list[T2_co]], Iterable[R] | None],
        output_type: RecordType | None = None,
    ) -> DataStream[R]:
        """Call a function for all elements of both streams that have one key and are in one window.

        Args:
            function: A CoGroupFunction, or a callable that takes two lists and returns an iterable of results.
            output_type: The type of the results.
        """
        grouping = as_co_group_function(function)
        return self._result("CoGroup", grouping, output_type, yielded_type(grouping.co_group))


class PairedStreams(Unfinished, Generic[T1_co, T2_co, _WithWindow_co]):
    """Two streams that are to meet in windows."""

    _next_step = "where(key_selector)"
    _method: ClassVar[str]
    _with_window: ClassVar[Any]

    def __init__(self, stream1: DataStream[T1_co], stream2: DataStream[T2_co]) -> None:
        check_one_environment(stream1, stream2, self._method, "a DataStream")
        self.stream1 = stream1
        self.stream2 = stream2

    def where(
        self, key_selector: Callable[[T1_co], K] | KeySelector[T1_co, K], key_type: RecordType | None = None
    ) -> Where[T2_co, K, _WithWindow_co]:
        """Set the key of the elements of the first stream.

        Args:
            key_selector: Gives the key.
            key_type: The type of the keys of both streams; see ``DataStream.key_by``.
        """
        return Where(self, key_selector, declared_type(key_type, "key_type of where"))


class JoinedStreams(PairedStreams[T1_co, T2_co, _WithWindowJoin[T1_co, T2_co]], Generic[T1_co, T2_co]):
    """Two streams of which each pair of elements with one key, in one window, is to be joined."""

    _method = "join"
    _with_window = _WithWindowJoin


class CoGroupedStreams(PairedStreams[T1_co, T2_co, _WithWindowCoGroup[T1_co, T2_co]], Generic[T1_co, T2_co]):
    """Two streams whose elements with one key, in one window, are to be looked at together."""

    _method = "co_group"
    _with_window = _WithWindowCoGroup


class Where(Unfinished, Generic[T2_co, K, _WithWindow_co]):
    """Two streams, with the keys of the first."""

    _next_step = "equal_to(key_selector)"

    def __init__(
        self,
        streams: PairedStreams[Any, T2_co, _WithWindow_co],
        key_selector: Callable[[Any], K] | KeySelector[Any, K],
        key_type: TypeInformation | None,
    ) -> None:
        self._streams = streams
        self._key_selector = key_selector
        self._key_type = key_type

    def equal_to(
        self, key_selector: Callable[[T2_co], K] | KeySelector[T2_co, K], key_type: RecordType | None = None
    ) -> EqualTo[_WithWindow_co]:
        """Set the key of the elements of the second stream.

        Args:
            key_selector: Gives the key.
            key_type: The type of the keys of both streams, if ``where`` was not given it.
        """
        first, second = self._key_type, declared_type(key_type, "key_type of equal_to")
        if first is not None and second is not None and first != second:
            raise InvalidProgramError(
                f"the keys of both streams must be of one type, and where was given {first} and equal_to {second}"
            )
        return EqualTo(self._streams, (self._key_selector, key_selector), first or second)


class EqualTo(Unfinished, Generic[_WithWindow_co]):
    """Two streams with keys.

    Attributes:
        streams: The streams, without their keys.
        key_type: The type of the keys of both.
    """

    _next_step = "window(assigner)"

    def __init__(
        self,
        streams: PairedStreams[Any, Any, _WithWindow_co],
        key_selectors: tuple[_Selector, _Selector],
        key_type: TypeInformation | None,
    ) -> None:
        self._with_window = streams._with_window
        self._key_selectors = key_selectors
        self.streams = streams.stream1, streams.stream2
        self.key_type = key_type
        self.keyed()  # what is no key selector is refused here

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> _WithWindow_co:
        """Cut both streams into windows."""
        with_window: _WithWindow_co = self._with_window(self, window_assigner)
        return with_window

    def keyed(self) -> tuple[KeyedStream, KeyedStream]:
        """Return the streams grouped by their keys."""
        first, second = self.streams
        one, two = self._key_selectors
        return first.key_by(one, self.key_type), second.key_by(two, self.key_type)


def _tagged_type(first: DataStream, second: DataStream) -> TypeInformation | None:
    """Return the type of elements that are kept with the number of their stream; None: they are pickled."""
    types = [stream._type_info or state_type(stream._hint) for stream in (first, second)]
    if types == [None, None]:
        return None
    one, two = (serializer_of(type_info or Types.PICKLED_BYTE_ARRAY()) for type_info in types)
    return SerializerTypeInfo(TaggedUnionSerializer(one, two))
