"""What is written to a savepoint: DataFrames, and how their rows become state.

Nothing here runs in Spark's tasks; that is in ``slot_writing``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rekindle.contracts.declared_types import declared_type
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.process_functions import KeyedProcessFunction
from rekindle.contracts.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from rekindle.exceptions import ConfigurationError
from rekindle.state.kinds.state_kind import kind_of
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "KeyedStateBootstrapFunction",
    "OperatorTransformation",
    "StateTransformation",
    "broadcast_state",
    "keyed_state",
    "list_state",
    "union_state",
]

KeySelector = str | Sequence[str] | Callable[[Any], Any]


class KeyedStateBootstrapFunction(Function):
    """Turn the rows of a DataFrame into keyed state and timers, key by key.

    ``open`` asks for states by their descriptors, as the functions of the job that will be restored do.
    """

    Context = KeyedProcessFunction.Context

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Put what a row says into the states of its key.

        Args:
            value: The row.
            ctx: The key, and the service that sets timers; not to be kept.
        """


@dataclass(frozen=True)
class StateTransformation:
    """Hold a DataFrame that becomes state of an operator. Made by the functions and methods of this module.

    Attributes:
        data_frame: The rows.
    """

    data_frame: DataFrame

    @property
    def states(self) -> frozenset[str]:
        """Name the states that are written; empty: only the function knows."""
        return frozenset()


@dataclass(frozen=True)
class FunctionTransformation(StateTransformation):
    """Let a function turn rows into keyed state."""

    key: KeySelector
    key_type: TypeInformation | None
    function: KeyedStateBootstrapFunction


@dataclass(frozen=True)
class KeyedStateTransformation(StateTransformation):
    """Let columns be a keyed state: the key, and what it has."""

    descriptor: StateDescriptor
    key: tuple[str, ...] | str
    values: tuple[str, ...]
    key_type: TypeInformation | None
    namespace: str | None
    namespace_serializer: TypeSerializer[Any] | None

    @property
    def states(self) -> frozenset[str]:
        return frozenset({self.descriptor.get_name()})


@dataclass(frozen=True)
class ListTransformation(StateTransformation):
    """Let a column be the items of an operator's list state, or two the entries of its broadcast state."""

    descriptor: StateDescriptor
    mode: DistributionMode
    values: tuple[str, ...]

    @property
    def states(self) -> frozenset[str]:
        return frozenset({self.descriptor.get_name()})


class OperatorTransformation:
    """Say how the rows of a DataFrame become the state of an operator, with a function."""

    def __init__(self, data_frame: DataFrame) -> None:
        self._data_frame = data_frame

    @staticmethod
    def bootstrap_with(data_frame: DataFrame) -> OperatorTransformation:
        """Begin with the rows of a DataFrame."""
        return OperatorTransformation(data_frame)

    def key_by(self, key: KeySelector, key_type: Any = None) -> KeyedOperatorTransformation:
        """Give each row a key.

        Args:
            key: The name of a column, those of several (the key is a tuple then), or a function of the row.
            key_type: The type of the keys, that of ``key_by`` in the job; None: as in a ``key_by`` without one.
        """
        declared = None if key_type is None else declared_type(key_type, "key_type of key_by")
        return KeyedOperatorTransformation(self._data_frame, key, declared)


class KeyedOperatorTransformation:
    """Say how rows with keys become keyed state."""

    def __init__(self, data_frame: DataFrame, key: KeySelector, key_type: TypeInformation | None) -> None:
        self._data_frame = data_frame
        self._key = key
        self._key_type = key_type

    def transform(self, function: KeyedStateBootstrapFunction) -> StateTransformation:
        """Let a function turn the rows into state."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeError(f"transform() needs a KeyedStateBootstrapFunction, got {function!r}")
        return FunctionTransformation(self._data_frame, self._key, self._key_type, function)


def keyed_state(
    data_frame: DataFrame,
    descriptor: StateDescriptor,
    key_columns: str | Sequence[str] = "key",
    value_columns: str | Sequence[str] | None = None,
    key_type: Any = None,
    namespace_column: str | None = None,
    namespace_serializer: TypeSerializer[Any] | None = None,
) -> StateTransformation:
    """Let columns be a keyed state, without a function: what :meth:`SavepointReader.keyed_state` reads can be written.

    Args:
        data_frame: The rows.
        descriptor: The state, as the job describes it. Of reducing and aggregating states, values are accumulators.
        key_columns: The column of the key, or several: the key is a tuple then.
        value_columns: The column of the value, ``value`` by default; in a list state an array, or a row for each
            element (in no particular order). In a map state the columns of map key and value, ``map_key`` and
            ``map_value`` by default, or one that holds maps.
        key_type: The type of the keys, that of ``key_by`` in the job; None: that of the operator in the savepoint that
            is changed, else as in a ``key_by`` without one.
        namespace_column: In the state of windows the column of the window.
        namespace_serializer: Writes the windows; None: as in the savepoint that is changed.
    """
    if not isinstance(descriptor, StateDescriptor):
        raise TypeError(f"keyed_state() needs the descriptor of the state, got {descriptor!r}")
    has_map_keys = kind_of(descriptor).shape.has_map_keys
    if value_columns is None:
        value_columns = ("map_key", "map_value") if has_map_keys else "value"
    values = (value_columns,) if isinstance(value_columns, str) else tuple(value_columns)
    key = key_columns if isinstance(key_columns, str) else tuple(key_columns)
    _check_columns(data_frame, [*([key] if isinstance(key, str) else key), *values, namespace_column])
    if len(values) > (2 if has_map_keys else 1):
        raise ConfigurationError(
            f"state {descriptor.get_name()!r} takes one column of values, and a map two; got {', '.join(values)}. Put "
            "several columns into one with pyspark.sql.functions.struct"
        )
    declared = None if key_type is None else declared_type(key_type, "key_type of keyed_state")
    return KeyedStateTransformation(
        data_frame, descriptor, key, values, declared, namespace_column, namespace_serializer
    )


def list_state(
    data_frame: DataFrame, descriptor: ListStateDescriptor, value_column: str = "value"
) -> StateTransformation:
    """Let a column be the items of an operator's list state, which are dealt out to its subtasks."""
    return _list(data_frame, descriptor, DistributionMode.SPLIT, (value_column,))


def union_state(
    data_frame: DataFrame, descriptor: ListStateDescriptor, value_column: str = "value"
) -> StateTransformation:
    """Let a column be the items of an operator's union list state, all of which each subtask gets."""
    return _list(data_frame, descriptor, DistributionMode.UNION, (value_column,))


def broadcast_state(
    data_frame: DataFrame, descriptor: MapStateDescriptor, key_column: str = "key", value_column: str = "value"
) -> StateTransformation:
    """Let two columns be the entries of an operator's broadcast state, all of which each subtask has."""
    return _list(data_frame, descriptor, DistributionMode.BROADCAST, (key_column, value_column))


def _list(
    data_frame: DataFrame, descriptor: StateDescriptor, mode: DistributionMode, columns: tuple[str, ...]
) -> StateTransformation:
    wanted = MapStateDescriptor if mode is DistributionMode.BROADCAST else ListStateDescriptor
    if not isinstance(descriptor, wanted):
        raise TypeError(f"{mode} state is described by a {wanted.__name__}, got {descriptor!r}")
    _check_columns(data_frame, columns)
    return ListTransformation(data_frame, descriptor, mode, columns)


def _check_columns(data_frame: DataFrame, columns: Sequence[str | None]) -> None:
    missing = [name for name in columns if name is not None and name not in data_frame.columns]
    if missing:
        raise ConfigurationError(
            f"the DataFrame has no column {', '.join(map(repr, missing))}; it has {', '.join(data_frame.columns)}"
        )
