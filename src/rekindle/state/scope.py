"""Whose state a handle reads and writes: the current key's, or the current key's in a namespace such as a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from rekindle.contracts.state import ListState, State
from rekindle.exceptions import InvalidCallError


def unhashable_map_key(key: Any) -> InvalidCallError:
    """Describe a key that no map can have."""
    return InvalidCallError(f"a map state was given a {type(key).__name__} as a key: keys of a map must be hashable")


class Scope(Protocol):
    """Give the entry that a handle stands for at the moment; the backend itself is the scope without namespaces."""

    @property
    def key(self) -> Any:
        """Give the key of the entry."""


class NamespaceScope:
    """Add a namespace to the current key. Handles made for this scope see what ``namespace`` is set to."""

    __slots__ = ("_backend", "namespace")

    def __init__(self, backend: Scope) -> None:
        self._backend = backend
        self.namespace: Any = None

    @property
    def key(self) -> Any:
        """Give the current key and namespace."""
        key = self._backend.key
        hash(key)  # raises where there is no current key: a tuple around it would hide that
        return key, self.namespace


class NamespacedState:
    """Give a state of the current key in a namespace, and merge namespaces, as merging windows need.

    Attributes:
        state: The handle; it sees the namespace set last with :meth:`use`.
        scope: Where the namespace is set.
    """

    __slots__ = ("scope", "state")

    def __init__(self, state: State, scope: NamespaceScope) -> None:
        self.state = state
        self.scope = scope

    def use(self, namespace: Any) -> State:
        """Set the namespace and give the handle. The namespace stays when the key changes."""
        self.scope.namespace = namespace
        return self.state

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Move what the current key has in the namespaces ``sources`` into the namespace ``target``."""
        state: Any = self.state
        if isinstance(state, ListState):
            for source in sources:
                elements = list(self.use(source).get())  # type: ignore[attr-defined]
                state.clear()
                self.use(target)
                state.add_all(elements)
            return
        if not hasattr(state, "merged"):
            raise InvalidCallError(
                f"{type(state).__name__} cannot be merged: only list, reducing and aggregating state can"
            )
        for source in sources:
            self.use(source)
            moved = state.stored()
            state.clear()
            self.use(target)
            if moved is not None:
                current = state.stored()
                state.store(moved if current is None else state.merged(current, moved))
