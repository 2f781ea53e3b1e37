"""Whose state a handle reads and writes: the current key's, or the current key's in a namespace such as a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from rekindle.contracts.state import State
from rekindle.exceptions import InvalidCallError
from rekindle.state.kinds.state_kind import StateKind


def unhashable_map_key(key: Any) -> InvalidCallError:
    """Describe a key that no map can have."""
    return InvalidCallError(f"a map state was given a {type(key).__name__} as a key: keys of a map must be hashable")


class Scope(Protocol):
    """Give the entry that a handle stands for at the moment; the backend itself is the scope without namespaces."""

    @property
    def key(self) -> Any:
        """Return the key of the entry."""


class NamespaceScope:
    """Add a namespace to the current key. Handles made for this scope see what ``namespace`` is set to."""

    __slots__ = ("_backend", "namespace")

    def __init__(self, backend: Scope) -> None:
        self._backend = backend
        self.namespace: Any = None

    @property
    def key(self) -> Any:
        """Return the current key and namespace."""
        key = self._backend.key
        hash(key)  # raises where there is no current key: a tuple around it would hide that
        return key, self.namespace


class NamespacedState:
    """Give a state of the current key in a namespace, and merge namespaces, as merging windows need.

    Attributes:
        state: The handle; it sees the namespace set last with :meth:`use`.
        scope: Where the namespace is set.
    """

    __slots__ = ("_kind", "scope", "state")

    def __init__(self, state: State, scope: NamespaceScope, kind: StateKind[Any]) -> None:
        self.state = state
        self.scope = scope
        self._kind = kind

    def use(self, namespace: Any) -> State:
        """Set the namespace and give the handle. The namespace stays when the key changes."""
        self.scope.namespace = namespace
        return self.state

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Move what the current key has in the namespaces ``sources`` into the namespace ``target``."""
        for source in sources:
            taken = self._kind.take(self.use(source))
            self._kind.absorb(self.use(target), taken)
