"""Turns what users pass, a callable or an instance of a function class, into a function object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rekindle.contracts.functions import (
    CheckpointedFunction,
    CheckpointListener,
    CoGroupFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    KeySelector,
    ListCheckpointed,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from rekindle.contracts.wrong_arguments import with_article, wrong_kind
from rekindle.exceptions import InvalidProgramError

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
    _check_called(selector, KeySelector, "key_by")
    call: Callable[[Any], Any] = selector.get_key if isinstance(selector, KeySelector) else selector
    return call


def refuse_fields(*given: Any) -> None:
    """Raise if several fields, by position or name, were given to ``key_by``."""
    if all(isinstance(each, int | str) for each in given):
        fields = ", ".join(map(_field, given))
        raise TypeError(
            f"key_by takes one KeySelector or callable, and was given {' and '.join(map(repr, given))}: write lambda "
            f"record: ({fields})"
        )


def _field(given: int | str) -> str:
    return f"record.{given}" if isinstance(given, str) and given.isidentifier() else f"record[{given!r}]"


def as_partitioner(partitioner: Any, selector: Any) -> tuple[Callable[[Any, int], int], Callable[[Any], Any]]:
    """Take a Partitioner or a callable, and a KeySelector or a callable; return what is called per record."""
    _check_called(partitioner, Partitioner, "partition_custom")
    _check_called(selector, KeySelector, "the key_selector of partition_custom")
    choose = partitioner.partition if isinstance(partitioner, Partitioner) else partitioner
    return choose, as_key_selector(selector)


def rich_functions(*given: Any) -> tuple[Function, ...]:
    """Return those functions that are to be opened and closed: all but callables and functions that do neither."""
    return tuple(
        function
        for function in given
        if isinstance(function, Function)
        and (type(function).open is not Function.open or type(function).close is not Function.close)
    )


def require(function: Any, kind: Callable[..., F], method: str) -> F:
    """Take an instance of a function class, and nothing else."""
    if not isinstance(function, cast(type, kind)):
        raise wrong_kind(method, with_article(kind.__name__), function, cast(type, kind))
    return cast(F, function)


def refuse_operator_state(function: Any, method: str, instead: str) -> None:
    """Raise if a function wants to take part in checkpoints where nobody would call it for them.

    Args:
        function: The function.
        method: What it was given to.
        instead: What to do.
    """
    if isinstance(function, CheckpointedFunction | ListCheckpointed | CheckpointListener):
        raise InvalidProgramError(
            f"{type(function).__name__} takes part in checkpoints, but functions of {method} cannot: {instead}"
        )


def _check_called(given: Any, kind: type[Function], method: str) -> None:
    """Raise unless something is a function of a kind, or a callable in its place; both without operator state."""
    refuse_operator_state(given, method, "keep the state in a function of an operator before it")
    takes = f"{with_article(kind.__name__)} or a callable"
    if isinstance(given, kind):
        return
    if kind is KeySelector and isinstance(given, int | str):
        was = with_article(type(given).__name__)
        raise TypeError(f"{method} takes {takes}, and was given {was}: write lambda record: {_field(given)}")
    if not callable(given) or (isinstance(given, type) and issubclass(given, Function)):
        raise wrong_kind(method, takes, given, kind)


def _adapt(function: Any, kind: Callable[..., F], adapter: Callable[[Any], F], method: str) -> F:
    if isinstance(function, cast(type, kind)):
        return cast(F, function)
    if isinstance(function, type) and issubclass(function, Function):
        raise TypeError(f"{method} takes an instance, and was given the class: write {function.__name__}()")
    if callable(function):
        return adapter(function)
    raise wrong_kind(method, f"{with_article(kind.__name__)} or a callable", function, cast(type, kind))
