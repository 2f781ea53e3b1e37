"""A kind of keyed state: what a program asks for by one class of descriptors. And those there are, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from rekindle.contracts.state import State, StateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidCallError, StateRestoreError
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.shapes.state_shape import StateShape
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.types.type_serializer import TypeSerializer

D = TypeVar("D", bound=StateDescriptor)


class StateKind(ABC, Generic[D]):
    """Say what is particular to one kind of state. There is one instance of each, registered below.

    Attributes:
        name: The kind's name, in snapshots and in messages.
        descriptor: The class that describes such a state in a program.
        shape: What a backend stores for a key.
    """

    name: ClassVar[str]
    descriptor: ClassVar[type[StateDescriptor]]
    shape: ClassVar[StateShape]

    @abstractmethod
    def open(self, descriptor: D, primitives: StatePrimitives) -> State:
        """Make the handle of a state.

        Args:
            descriptor: The state.
            primitives: What the backend keeps it in: the one that the shape says is to be asked for.
        """

    def serializers(
        self, descriptor: D, key: TypeSerializer[Any], namespace: TypeSerializer[Any] = UNUSED
    ) -> StateSerializers:
        """Return the serializers of a state.

        Args:
            descriptor: The state.
            key: The serializer of the operator's keys.
            namespace: The serializer of the state's namespaces; UNUSED in states without.
        """
        return StateSerializers(key, serializer_of(descriptor.type_info), UNUSED, namespace)

    def take(self, state: State) -> Any:
        """Remove what the current key has in the current namespace, and give it.

        Raises:
            InvalidCallError: Namespaces of such a state cannot be merged.
        """
        self._not_merged()

    def absorb(self, state: State, taken: Any) -> None:
        """Add what was taken from another namespace to what the current key has in the current one."""
        self._not_merged()

    def _not_merged(self) -> NoReturn:
        raise InvalidCallError(
            f"{self} state cannot be merged: state of windows that merge has to be list, reducing or aggregating state"
        )

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<state kind {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], StateKind[Any]], tuple[str]]:
        return kind_named, (self.name,)


_KINDS: dict[str, StateKind[Any]] = {}


def register(kind: StateKind[Any]) -> None:
    """Add a kind.

    Raises:
        ConfigurationError: There is another of that name.
    """
    if kind.name in _KINDS:
        raise ConfigurationError(f"there is a kind of state named {kind.name!r} already")
    _KINDS[kind.name] = kind


def kind_named(name: str) -> StateKind[Any]:
    """Return the kind that is stored in snapshots under a name.

    Raises:
        StateRestoreError: There is none.
    """
    kind = _KINDS.get(name)
    if kind is None:
        raise StateRestoreError(f"there is no kind of state named {name!r}, only {', '.join(_KINDS)}")
    return kind


def kind_of(descriptor: StateDescriptor) -> StateKind[Any]:
    """Return the kind of keyed state that a descriptor describes.

    Raises:
        InvalidCallError: There is none.
    """
    described: dict[type, StateKind[Any]] = {kind.descriptor: kind for kind in _KINDS.values()}
    for cls in type(descriptor).__mro__:
        if cls in described:
            return described[cls]
    raise InvalidCallError(f"{descriptor!r} is not a descriptor of keyed state")
