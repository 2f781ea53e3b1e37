"""Turns what users pass, a callable or an instance of a function class, into a function object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rekindle.datastream.functions import (
    CoGroupFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)

F = TypeVar("F", bound=Function)


class _CallableMap(MapFunction):
    def __init__(self, call: Callable[[Any], Any]) -> None:
        self.map = call  # type: ignore[method-assign,assignment]  # one call per record less than a method around it

    def map(self, value: Any) -> Any:
        raise AssertionError


class _CallableFlatMap(FlatMapFunction):
    def __init__(self, call: Callable[[Any], Any]) -> None:
        self.flat_map = call  # type: ignore[method-assign,assignment]

    def flat_map(self, value: Any) -> Any:
        raise AssertionError


class _CallableFilter(FilterFunction):
    def __init__(self, call: Callable[[Any], bool]) -> None:
        self.filter = call  # type: ignore[method-assign,assignment]

    def filter(self, value: Any) -> bool:
        raise AssertionError


class _CallableReduce(ReduceFunction):
    def __init__(self, call: Callable[[Any, Any], Any]) -> None:
        self.reduce = call  # type: ignore[method-assign,assignment]

    def reduce(self, value1: Any, value2: Any) -> Any:
        raise AssertionError


class _CallableJoin(JoinFunction):
    def __init__(self, call: Callable[[Any, Any], Any]) -> None:
        self.join = call  # type: ignore[method-assign,assignment]

    def join(self, first: Any, second: Any) -> Any:
        raise AssertionError


class _CallableCoGroup(CoGroupFunction):
    def __init__(self, call: Callable[[Any, Any], Any]) -> None:
        self.co_group = call  # type: ignore[method-assign,assignment]

    def co_group(self, first: Any, second: Any) -> Any:
        raise AssertionError


def as_map_function(function: Any) -> MapFunction:
    """Take a MapFunction or a callable."""
    return _adapt(function, MapFunction, _CallableMap, "map")


def as_flat_map_function(function: Any) -> FlatMapFunction:
    """Take a FlatMapFunction or a callable."""
    return _adapt(function, FlatMapFunction, _CallableFlatMap, "flat_map")


def as_filter_function(function: Any) -> FilterFunction:
    """Take a FilterFunction or a callable."""
    return _adapt(function, FilterFunction, _CallableFilter, "filter")


def as_reduce_function(function: Any) -> ReduceFunction:
    """Take a ReduceFunction or a callable."""
    return _adapt(function, ReduceFunction, _CallableReduce, "reduce")


def as_join_function(function: Any) -> JoinFunction | FlatJoinFunction:
    """Take a JoinFunction, a FlatJoinFunction, or a callable that gives one result."""
    if isinstance(function, FlatJoinFunction):
        return function
    if inspect.isgeneratorfunction(function):
        raise TypeError(
            f"apply on joined streams takes a callable that returns one result, and {function.__name__} yields: make "
            "it the join method of a FlatJoinFunction"
        )
    return _adapt(function, JoinFunction, _CallableJoin, "apply on joined streams")


def as_co_group_function(function: Any) -> CoGroupFunction:
    """Take a CoGroupFunction or a callable."""
    return _adapt(function, CoGroupFunction, _CallableCoGroup, "apply on co-grouped streams")


def as_key_selector(selector: Any) -> Callable[[Any], Any]:
    """Take a KeySelector or a callable; return what is called per record."""
    if isinstance(selector, KeySelector):
        return selector.get_key
    if callable(selector):
        call: Callable[[Any], Any] = selector
        return call
    raise TypeError(f"key_by takes a KeySelector or a callable, and was given a {type(selector).__name__}")


def as_partitioner(partitioner: Any, selector: Any) -> tuple[Callable[[Any, int], int], Callable[[Any], Any]]:
    """Take a Partitioner or a callable, and a KeySelector or a callable; return what is called per record."""
    if not isinstance(partitioner, Partitioner) and not callable(partitioner):
        raise TypeError(
            f"partition_custom takes a Partitioner or a callable, and was given a {type(partitioner).__name__}"
        )
    if not isinstance(selector, KeySelector) and not callable(selector):
        raise TypeError(
            f"the key_selector of partition_custom is a KeySelector or a callable, and a {type(selector).__name__} "
            "was given"
        )
    choose = partitioner.partition if isinstance(partitioner, Partitioner) else partitioner
    return choose, as_key_selector(selector)


def rich_functions(*given: Any) -> tuple[Function, ...]:
    """Give those functions that are to be opened and closed: all but callables and functions that do neither."""
    return tuple(
        function
        for function in given
        if isinstance(function, Function)
        and (type(function).open is not Function.open or type(function).close is not Function.close)
    )


def require(function: Any, kind: Callable[..., F], method: str) -> F:
    """Take an instance of a function class, and nothing else."""
    if not isinstance(function, cast(type, kind)):
        raise TypeError(f"{method} takes a {kind.__name__}, and was given a {type(function).__name__}")
    return cast(F, function)


def _adapt(function: Any, kind: Callable[..., F], adapter: Callable[[Any], F], method: str) -> F:
    if isinstance(function, cast(type, kind)):
        return cast(F, function)
    if isinstance(function, type) and issubclass(function, Function):
        raise TypeError(f"{method} takes an instance, and was given the class: write {function.__name__}()")
    if callable(function):
        return adapter(function)
    raise TypeError(f"{method} takes a {kind.__name__} or a callable, and was given a {type(function).__name__}")
