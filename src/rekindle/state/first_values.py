"""What is put into a state for the first time is tried out: a type that does not fit is named there, with its record.

Afterwards nothing is looked at, and it costs nothing: live objects are kept as they are until they become bytes, in a
snapshot or in RocksDB, and what does not fit then is named without its record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rekindle.contracts.state import ListState, MapState, ReducingState, State, ValueState
from rekindle.exceptions import SerializationError
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.state.state_evolution import StateName
from rekindle.state.state_serializers import StateSerializers
from rekindle.types.type_serializer import TypeSerializer

S = TypeVar("S", bound=State)


def tried_once(state: S, name: StateName, serializers: StateSerializers) -> S:
    """Have a state try out what it is given first: what can be written is kept, and then the state is as before.

    Its class is exchanged for one that does so, and is put back after the first value.
    """
    methods = _tries(state, name, serializers)
    if methods:
        cls: Any = type(state)
        state.__class__ = type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, **methods})
    return state


def _tries(state: State, name: StateName, serializers: StateSerializers) -> dict[str, Callable[..., Any]]:
    cls: Any = type(state)

    def fits(serializer: TypeSerializer[Any], element: Any, what: str) -> bool:
        """Return whether there is something to try out, and raise if it does not fit."""
        if element is None:
            return False
        if isinstance(serializer, PickleSerializer):
            return True  # no type was promised
        try:
            serializer.to_bytes(element)
        except SerializationError as error:
            raise SerializationError(f"{name} cannot hold {what} that it was given: {error}") from error
        return True

    def value_method(method: str) -> Callable[..., Any]:
        def put(self: Any, value: Any) -> Any:
            if fits(serializers.value, value, "the value"):
                self.__class__ = cls
            return getattr(cls, method)(self, value)

        return put

    def put(self: Any, key: Any, value: Any) -> Any:
        fits(serializers.map_key, key, "the key of a map")
        if fits(serializers.value, value, "the value of a map"):
            self.__class__ = cls
        return cls.put(self, key, value)

    match state:
        case ValueState():
            return {"update": value_method("update")}
        case ReducingState() | ListState():
            return {"add": value_method("add")}
        case MapState():
            return {"put": put}
    return {}
