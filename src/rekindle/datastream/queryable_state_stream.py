"""Keyed streams as queryable state: what ``KeyedStream.as_queryable_state`` makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rekindle.contracts.functions import KeyedProcessFunction, RuntimeContext
from rekindle.contracts.state import (
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.contracts.wrong_arguments import wrong_kind
from rekindle.exceptions import InvalidArgumentError
from rekindle.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from rekindle.datastream.data_stream import DataStream

__all__ = ["QueryableStateStream"]


class QueryableStateStream:
    """A keyed stream whose last values, or what they come to, can be queried. Nothing follows it."""

    def __init__(
        self,
        queryable_state_name: str,
        state_descriptor: StateDescriptor,
        key_type: TypeInformation | None,
        keeping: DataStream,
    ) -> None:
        """Stand for an operator that keeps a stream; programs call ``KeyedStream.as_queryable_state``."""
        self._name = queryable_state_name
        self._descriptor = state_descriptor
        self._key_type = key_type
        self._keeping = keeping

    def uid(self, uid: str) -> QueryableStateStream:
        """Set the identity of the operator, by which its state is found again when the program has changed."""
        self._keeping.uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> QueryableStateStream:
        """Set the uid that was derived for the operator before, 32 hexadecimal digits, to find its state again."""
        self._keeping.set_uid_hash(uid_hash)
        return self

    def get_queryable_state_name(self) -> str:
        """Return the name under which clients query the state."""
        return self._name

    def get_state_descriptor(self) -> StateDescriptor:
        """Return the descriptor with which clients query the state."""
        return self._descriptor

    def get_key_type(self) -> TypeInformation | None:
        """Return the type of the keys with which clients query the state; None: it is not declared."""
        return self._key_type


def queryable_descriptor(
    name: str, descriptor: StateDescriptor | None, type_info: TypeInformation | None
) -> StateDescriptor:
    """Return the descriptor of the state that keeps a stream for queries.

    Args:
        name: The name under which clients query it.
        descriptor: What the program gave.
        type_info: The type of the stream's records.

    Raises:
        InvalidArgumentError: It is a state that grows without end, or that a stream cannot fill.
        TypeError: It is no descriptor.
    """
    what = "as_queryable_state"
    if not isinstance(name, str):
        raise TypeError(f"{what} takes the name under which clients query the state, got {name!r}")
    if descriptor is None:
        descriptor = ValueStateDescriptor(name, type_info)
    elif isinstance(descriptor, ListStateDescriptor):
        raise InvalidArgumentError(
            f"{what}({name!r}) does not take a ListStateDescriptor: the list would keep every record of the stream for "
            "ever. Keep the list in a process function that also clears it, with set_queryable on its descriptor"
        )
    elif isinstance(descriptor, MapStateDescriptor):
        raise InvalidArgumentError(
            f"{what}({name!r}) does not take a MapStateDescriptor: nothing says which entry a record belongs to. Keep "
            "the map in a process function, with set_queryable on its descriptor"
        )
    elif not isinstance(descriptor, ValueStateDescriptor | ReducingStateDescriptor | FoldingStateDescriptor):
        kinds = "a ValueStateDescriptor, ReducingStateDescriptor or FoldingStateDescriptor"
        raise wrong_kind(what, kinds, descriptor, StateDescriptor)
    descriptor.set_queryable(name)
    return descriptor


class KeepForQueries(KeyedProcessFunction):
    """Put the records of a stream into a state, and emit nothing."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self._descriptor = descriptor
        self._put: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        descriptor = self._descriptor
        if isinstance(descriptor, ValueStateDescriptor):
            self._put = runtime_context.get_state(descriptor).update
        elif isinstance(descriptor, ReducingStateDescriptor):
            self._put = runtime_context.get_reducing_state(descriptor).add
        else:
            assert isinstance(descriptor, FoldingStateDescriptor)
            self._put = runtime_context.get_folding_state(descriptor).add

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Keep a record."""
        self._put(value)
        return None
